import ClarityScheduler
import JSON

/// Appends JSON to a buffer, for what is written too often to be made a `JSON` first.
struct NotationWriter {
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

    /// Writes an object whose members `body` writes.
    mutating func object(_ body: (inout NotationWriter) -> Void) { nest("{", "}", body) }

    /// Writes an array whose elements `body` writes.
    mutating func array(_ body: (inout NotationWriter) -> Void) { nest("[", "]", body) }

    /// Writes the name of the member whose value comes next; it must need no escape.
    mutating func name(_ name: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }

    /// Writes the name of the member whose value comes next.
    mutating func name(_ name: String) {
        text(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    mutating func null() { word("null") }

    mutating func flag(_ value: Bool) { word(value ? "true" : "false") }

    mutating func integer(_ value: Int64) {
        separate()
        bytes.append(contentsOf: String(value).utf8)
        needsComma = true
    }

    mutating func text(_ value: String) {
        separate()
        var value = value
        let isPlain = value.withUTF8 { content in
            guard content.allSatisfy(NotationWriter.isPlain) else { return false }
            bytes.append(UInt8(ascii: "\""))
            bytes.append(contentsOf: content)
            bytes.append(UInt8(ascii: "\""))
            return true
        }
        if !isPlain { bytes.append(contentsOf: JSON.string(value).bytes) }
        needsComma = true
    }

    mutating func json(_ value: JSON) {
        separate()
        bytes.append(contentsOf: value.bytes)
        needsComma = true
    }

    // MARK: The engine's values

    mutating func instant(_ instant: Instant) { integer(instant.millisecondsSince1970) }

    /// Writes nanoseconds, or where they do not hold a span `[seconds,attoseconds]`.
    mutating func span(_ span: Duration) {
        let (seconds, attoseconds) = span.components
        let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isTooLongStill) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        guard attoseconds % 1_000_000_000 == 0, !isTooLong, !isTooLongStill else {
            return array { writer in
                writer.integer(seconds)
                writer.integer(attoseconds)
            }
        }
        integer(sum)
    }

    mutating func texts(_ texts: [String]) {
        array { writer in
            for text in texts { writer.text(text) }
        }
    }

    mutating func runs(_ runs: [RunID]) {
        array { writer in
            for run in runs { writer.integer(run.rawValue) }
        }
    }

    mutating func jobs(_ jobs: [JobID]) {
        array { writer in
            for job in jobs { writer.text(job.rawValue) }
        }
    }

    mutating func tally(_ tally: Tally) {
        object { writer in
            for name in tally.names {
                writer.name(name)
                writer.integer(tally[name])
            }
        }
    }

    mutating func failure(_ failure: Failure) {
        array { writer in
            writer.text(failure.category.rawValue)
            writer.text(failure.reason)
        }
    }

    private mutating func nest(
        _ opening: Unicode.Scalar, _ closing: Unicode.Scalar, _ body: (inout NotationWriter) -> Void
    ) {
        separate()
        bytes.append(UInt8(ascii: opening))
        body(&self)
        bytes.append(UInt8(ascii: closing))
        needsComma = true
    }

    private mutating func word(_ word: StaticString) {
        separate()
        word.withUTF8Buffer { bytes.append(contentsOf: $0) }
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = false
    }

    /// Whether a byte stands for itself within a string; U+0080 to U+00BF begin with 0xC2, and half
    /// of them are escaped.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") && byte != 0x7F
            && byte != 0xC2
    }
}
