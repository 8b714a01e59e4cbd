import ClarityScheduler
import JSON

/// Formats the output of an attempt's program.
enum OutputText {
    /// Returns the lines of the output without their line ends.
    ///
    /// A line of its own says how many bytes were left out.
    static func lines(_ output: AttemptOutput) -> [String] {
        guard output.leftOutBytes > 0 else { return lines(output.head + output.tail) }
        return lines(output.head) + ["... \(output.leftOutBytes) bytes are left out ..."]
            + lines(output.tail)
    }

    /// Returns the kept output as text; if nothing was left out, `head` contains all of it.
    static func object(_ output: AttemptOutput?) -> JSON {
        guard let output else { return .null }
        let isWhole = output.leftOutBytes == 0
        return [
            "head": .string(text(isWhole ? output.head + output.tail : output.head)),
            "left_out_bytes": .integer(output.leftOutBytes),
            "tail": .string(isWhole ? "" : text(output.tail)),
        ]
    }

    private static func lines(_ bytes: [UInt8]) -> [String] {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { line in
            let end = line.last == UInt8(ascii: "\r") ? line.endIndex - 1 : line.endIndex
            return text(line[line.startIndex..<end])
        }
    }

    private static func text(_ bytes: some Collection<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }
}
