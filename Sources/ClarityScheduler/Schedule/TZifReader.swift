/// The offsets of a zone, read from a TZif file (RFC 8536).
///
/// Reads the 64-bit block and the footer, and skips the 32-bit block before them. Every count is
/// checked against the available bytes before anything is kept. Bytes of any kind therefore give
/// contents or a fault, and never take more memory than a few times their own length.
struct TZifContents {
    /// The instants at which the offset may change, in ascending order, in seconds since 1970.
    var transitions: [Int64] = []
    /// The offset from UTC after each transition, in seconds; as many as `transitions`.
    var offsets: [Int64] = []
    /// The offset before the first transition.
    var earliestOffset: Int64
    /// The rule after the last transition; `nil` when the footer is empty.
    var rule: ZoneRule?

    init(_ bytes: [UInt8]) throws(ZoneError.Fault) {
        var cursor = Cursor(bytes)
        let narrow = try Header(&cursor)
        try cursor.skip(narrow.blockSize(timeSize: 4))
        let header = try Header(&cursor)
        try header.check()
        try cursor.require(header.blockSize(timeSize: 8))

        for _ in 0..<header.times {
            let time = Int64(bitPattern: try cursor.number(8))
            if let last = transitions.last, last >= time {
                throw .malformed(got: "transition \(time) after \(last)", wanted: "rising times")
            }
            transitions.append(time)
        }
        let indices = try cursor.take(header.times)
        let types = try TZifContents.types(&cursor, header)
        for index in indices {
            guard Int(index) < types.count else {
                throw .malformed(got: "type \(index)", wanted: "less than \(types.count)")
            }
            offsets.append(types[Int(index)])
        }
        // `check` made sure that there is at least one type. RFC 8536 section 3.2 uses type 0 for
        // the time before the first transition.
        earliestOffset = types[0]
        try cursor.skip(header.characters + header.standardFlags + header.utcFlags)
        rule = try TZifContents.rule(&cursor)
    }

    private static func types(
        _ cursor: inout Cursor, _ header: Header
    ) throws(ZoneError.Fault) -> [Int64] {
        var types: [Int64] = []
        for _ in 0..<header.types {
            let offset = Int64(Int32(truncatingIfNeeded: try cursor.number(4)))
            guard Zone.offsetSeconds.contains(offset) else {
                throw .malformed(
                    got: "offset \(offset) s",
                    wanted: "\(Zone.offsetSeconds.lowerBound) to \(Zone.offsetSeconds.upperBound)")
            }
            // A schedule does not need the daylight saving flag and the abbreviation.
            try cursor.skip(2)
            types.append(offset)
        }
        return types
    }

    private static func rule(_ cursor: inout Cursor) throws(ZoneError.Fault) -> ZoneRule? {
        let newline = UInt8(ascii: "\n")
        guard try cursor.number(1) == newline else {
            throw .malformed(got: "other bytes", wanted: "a newline before the footer")
        }
        let text = try cursor.take(upTo: newline)
        return text.isEmpty ? nil : try ZoneRule(text)
    }

    /// The counts at the start of a block.
    private struct Header {
        var utcFlags: Int
        var standardFlags: Int
        var leapSeconds: Int
        var times: Int
        var types: Int
        var characters: Int

        init(_ cursor: inout Cursor) throws(ZoneError.Fault) {
            guard cursor.startsWith("TZif") else { throw .notTZif }
            try cursor.skip(4)
            let version = UInt8(truncatingIfNeeded: try cursor.number(1))
            guard version >= UInt8(ascii: "2") else { throw .version(version) }
            try cursor.skip(15)
            utcFlags = Int(try cursor.number(4))
            standardFlags = Int(try cursor.number(4))
            leapSeconds = Int(try cursor.number(4))
            times = Int(try cursor.number(4))
            types = Int(try cursor.number(4))
            characters = Int(try cursor.number(4))
        }

        /// The number of bytes after the header. Six 32-bit counts times at most 12 fit in 64 bits.
        func blockSize(timeSize: Int) -> Int {
            times * (timeSize + 1) + types * 6 + characters + leapSeconds * (timeSize + 4)
                + standardFlags + utcFlags
        }

        func check() throws(ZoneError.Fault) {
            guard leapSeconds == 0 else { throw .leapSeconds }
            guard (1...256).contains(types) else {
                throw .malformed(got: "\(types) types", wanted: "1 to 256")
            }
            for flags in [utcFlags, standardFlags] where flags != 0 && flags != types {
                throw .malformed(got: "\(flags) flags", wanted: "0 or \(types), one a type")
            }
        }
    }

    /// A position in bytes that never passes their end.
    private struct Cursor {
        private let bytes: [UInt8]
        private var position = 0

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        func require(_ count: Int) throws(ZoneError.Fault) {
            guard count <= bytes.count - position else {
                throw .truncated(position: position, needed: count)
            }
        }

        func startsWith(_ text: String) -> Bool { bytes[position...].starts(with: text.utf8) }

        mutating func skip(_ count: Int) throws(ZoneError.Fault) {
            try require(count)
            position += count
        }

        mutating func take(_ count: Int) throws(ZoneError.Fault) -> ArraySlice<UInt8> {
            try require(count)
            defer { position += count }
            return bytes[position..<position + count]
        }

        mutating func take(upTo end: UInt8) throws(ZoneError.Fault) -> ArraySlice<UInt8> {
            guard let index = bytes[position...].firstIndex(of: end) else {
                throw .truncated(position: position, needed: bytes.count - position + 1)
            }
            defer { position = index + 1 }
            return bytes[position..<index]
        }

        /// Returns the big-endian number in the next `size` bytes, at most 8.
        mutating func number(_ size: Int) throws(ZoneError.Fault) -> UInt64 {
            try take(size).reduce(0) { $0 << 8 | UInt64($1) }
        }
    }
}
