public import ClarityScheduler

/// What is stored about the last complete reading of a file.
public struct LastReading: Hashable, Sendable {
    /// When it was read.
    public var readAt: Instant
    /// The reader with its version. Another reader may find something else in the file.
    public var reader: String
    /// The size of the file in bytes.
    public var bytes: Int64
    /// The mark that identifies the file's content; `nil` if it could not be computed.
    public var mark: ContentMark?
    /// What the reading found, by names that this program chooses; never values.
    public var counts: [String: Int64]
    /// When a reading of the same content finds more, because something in it was dated in the
    /// future.
    public var dueAt: Instant?
    /// What tells all that was read from what another reading finds, in any order; `nil` if the
    /// source has none.
    package var digest: UInt128?

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
    /// The bytes to encrypt: everything but the time, which is a column.
    var sealedForm: [UInt8] {
        var form: [UInt8] = [1]
        form.append(field: reader)
        form.append(littleEndian: bytes)
        form.append(mark == nil ? 0 : 1)
        if let mark { form += mark.key + mark.code }
        form.append(counts: counts)
        guard dueAt != nil || digest != nil else { return form }
        form.append(littleEndian: dueAt?.millisecondsSince1970 ?? .max)
        if let digest { form.append(littleEndian: digest) }
        return form
    }

    /// Parses `sealedForm`; `nil` if the bytes are not in that format.
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
        guard let counts = form.counts() else { return nil }
        self.init(
            readAt: readAt, reader: reader, bytes: bytes, mark: mark, counts: counts,
            // Earlier versions wrote it only if there was one, and no digest.
            dueAt: form.number(Int64.self).flatMap {
                $0 == .max ? nil : Instant(millisecondsSince1970: $0)
            })
        digest = form.number(UInt128.self)
    }
}
