/// A known name of an attribute, as the phone writes it: ` name="`.
struct UsualName {
    let field: RecordFields.Field
    /// The index after the quote.
    let valueStart: Int

    /// The bytes that are needed to recognise a name; the longest is ` sourceVersion="`.
    private static let longest = 16

    /// Reads a name at `index`; `nil` for anything else, and near the end of the bytes.
    @inline(__always)
    init?(_ bytes: Bytes, _ index: Int) {
        guard bytes.count - index >= UsualName.longest, bytes[index] == 0x20 else { return nil }
        let start = index + 1
        switch bytes[start] {
        case UInt8(ascii: "s") where bytes.reads("startDate=\"", at: start):
            self.init(.start, start + 11)
        case UInt8(ascii: "s") where bytes.reads("sourceName=\"", at: start):
            self.init(.source, start + 12)
        case UInt8(ascii: "s") where bytes.reads("sourceVersion=\"", at: start):
            self.init(.version, start + 15)
        case UInt8(ascii: "t") where bytes.reads("type=\"", at: start):
            self.init(.type, start + 6)
        case UInt8(ascii: "t") where bytes.reads("time=\"", at: start):
            self.init(.time, start + 6)
        case UInt8(ascii: "d") where bytes.reads("device=\"", at: start):
            self.init(.device, start + 8)
        case UInt8(ascii: "e") where bytes.reads("endDate=\"", at: start):
            self.init(.end, start + 9)
        case UInt8(ascii: "c") where bytes.reads("creationDate=\"", at: start):
            self.init(.created, start + 14)
        case UInt8(ascii: "v") where bytes.reads("value=\"", at: start):
            self.init(.value, start + 7)
        case UInt8(ascii: "u") where bytes.reads("unit=\"", at: start):
            self.init(.unit, start + 6)
        case UInt8(ascii: "k") where bytes.reads("key=\"", at: start):
            self.init(.key, start + 5)
        case UInt8(ascii: "b") where bytes.reads("bpm=\"", at: start):
            self.init(.rate, start + 5)
        default: return nil
        }
    }

    @inline(__always)
    private init(_ field: RecordFields.Field, _ valueStart: Int) {
        self.field = field
        self.valueStart = valueStart
    }
}
