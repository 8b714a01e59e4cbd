public import ClarityScheduler

/// What is kept of the last reading of a file that was read to its end.
public struct LastReading: Hashable, Sendable {
    /// When it was read.
    public var readAt: Instant
    /// What read it, with its version: another reader may find something else in it.
    public var reader: String
    /// The bytes of the file.
    public var bytes: Int64
    /// What tells the file's content; `nil` when that could not be made out.
    public var mark: ContentMark?
    /// What was found in it, by names of this program; never values.
    public var counts: [String: Int64]
    /// From when on another reading of the same content finds more: something in it was in the future.
    public var dueAt: Instant?

    /// Creates a note of a reading.
    public init(
        readAt: Instant, reader: String, bytes: Int64, mark: ContentMark?,
        counts: [String: Int64], dueAt: Instant? = nil
    ) {
        self.dueAt = dueAt
        self.readAt = readAt
        self.reader = reader
        self.bytes = bytes
        self.mark = mark
        self.counts = counts
    }
}

extension LastReading {
    /// Everything but the time, which is a column.
    var sealedForm: [UInt8] {
        var form: [UInt8] = [1]
        form.append(field: reader)
        form.append(littleEndian: bytes)
        form.append(mark == nil ? 0 : 1)
        if let mark { form += mark.key + mark.code }
        form.append(littleEndian: UInt32(counts.count))
        for (name, count) in counts.sorted(by: { $0.key < $1.key }) {
            form.append(field: name)
            form.append(littleEndian: count)
        }
        if let dueAt { form.append(littleEndian: dueAt.millisecondsSince1970) }
        return form
    }

    /// `nil` when the bytes are none of `sealedForm`.
    init?(sealedForm: [UInt8], readAt: Instant) {
        var form = ByteReader(sealedForm)
        guard form.number(UInt8.self) == 1, let reader = form.field(),
            let bytes = form.number(Int64.self), let isMarked = form.number(UInt8.self)
        else { return nil }
        var mark: ContentMark?
        if isMarked == 1 {
            guard let key = form.bytes(ContentMark.keyCount),
                let code = form.bytes(ContentMark.codeCount)
            else { return nil }
            mark = ContentMark(key: key, code: code)
        }
        guard let amount = form.number(UInt32.self) else { return nil }
        var counts: [String: Int64] = [:]
        for _ in 0..<amount {
            guard let name = form.field(), let count = form.number(Int64.self) else { return nil }
            counts[name] = count
        }
        self.init(
            readAt: readAt, reader: reader, bytes: bytes, mark: mark, counts: counts,
            // Not there in a note of an earlier version.
            dueAt: form.number(Int64.self).map { Instant(millisecondsSince1970: $0) })
    }
}
