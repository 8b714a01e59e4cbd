/// A time zone: the offset of its clocks from UTC, at any instant.
///
/// Two zones are equal if their names and rules are equal: the same name with newer rules is
/// another zone.
public struct Zone: Sendable {
    /// The instants at which a clock of the zone shows a given time.
    public enum Resolution: Hashable, Sendable {
        /// The clock shows the time once.
        case once(Instant)
        /// The clock was put back and shows the time again: the first and the last instant.
        case twice(earlier: Instant, later: Instant)
        /// The clock was put forward over the time, at this instant.
        case skipped(until: Instant)
    }

    /// A span of instants, from `start` to before `end`, with one offset from UTC; in seconds.
    struct Span: Hashable, Sendable {
        var start: Int64
        var end: Int64
        var offset: Int64
    }

    /// The zone's name in the tz database, such as `Europe/London`.
    public let identifier: String
    private let transitions: [Int64]
    private let offsets: [Int64]
    private let earliestOffset: Int64
    private let rule: ZoneRule?

    /// Coordinated Universal Time.
    public static let utc = Zone()

    /// Creates a zone from the bytes of its TZif file (RFC 8536), version 2 or later.
    ///
    /// - Throws: `ZoneError` for bytes that are not such a file, are truncated, break the format,
    ///   or count leap seconds. Bytes after the footer are ignored.
    public init(identifier: String, tzif bytes: [UInt8]) throws(ZoneError) {
        let contents: TZifContents
        do throws(ZoneError.Fault) {
            contents = try TZifContents(bytes)
        } catch {
            throw ZoneError(identifier: identifier, fault: error)
        }
        self.identifier = identifier
        transitions = contents.transitions
        offsets = contents.offsets
        earliestOffset = contents.earliestOffset
        rule = contents.rule
    }

    private init() {
        identifier = "UTC"
        transitions = []
        offsets = []
        earliestOffset = 0
        rule = nil
    }

    /// Returns how far the zone's clocks are ahead of UTC at an instant, in whole seconds; negative
    /// west of Greenwich.
    public func offset(at instant: Instant) -> Duration {
        .seconds(span(at: instant.secondsSince1970).offset)
    }

    /// Returns the instants at which a clock of the zone shows `time`, which must be valid.
    public func resolve(_ time: CivilTime) -> Resolution {
        precondition(time.isValid, "a zone resolves a valid time, got \(time)")
        let milliseconds = time.millisecondsSince1970
        let local = milliseconds.flooredQuotient(1000)
        var found: [Instant] = []
        var span = span(at: local - Zone.offsetSeconds.upperBound)
        var change: Int64?
        // No clock shows the time in a span that begins after the westernmost clock has shown it.
        while span.start <= local - Zone.offsetSeconds.lowerBound {
            if span.start + span.offset <= local, local < span.end + span.offset {
                found.append(
                    Instant(millisecondsSince1970: milliseconds - span.offset * 1000))
            }
            if change == nil, span.start + span.offset > local { change = span.start }
            guard span.end < Zone.latest else { break }
            span = self.span(at: span.end)
        }
        guard let first = found.first, let last = found.last else {
            return .skipped(until: Instant(secondsSince1970: change ?? span.start))
        }
        return first == last ? .once(first) : .twice(earlier: first, later: last)
    }

    /// Whether the clocks of both zones agree at every instant from 1970 to 2100, as those of two
    /// names of one zone do.
    public func hasSameClock(as other: Zone) -> Bool {
        var seconds: Int64 = 0
        while seconds < Zone.comparedUntil {
            let (own, others) = (span(at: seconds), other.span(at: seconds))
            guard own.offset == others.offset else { return false }
            seconds = min(own.end, others.end)
        }
        return true
    }

    /// Returns the span that contains an instant; its neighbours may have the same offset.
    func span(at seconds: Int64) -> Span {
        if let rule, transitions.last.map({ seconds >= $0 }) ?? true {
            var span = rule.span(at: seconds)
            if let last = transitions.last { span.start = max(span.start, last) }
            return span.clamped
        }
        let next = transitions.endOfPrefix { $0 <= seconds }
        return Span(
            start: next == 0 ? Zone.earliest : transitions[next - 1],
            end: next == transitions.count ? Zone.latest : transitions[next],
            offset: next == 0 ? earliestOffset : offsets[next - 1]
        ).clamped
    }

    /// 2100-01-01T00:00:00Z.
    private static let comparedUntil: Int64 = 4_102_444_800
    /// The offsets that RFC 8536 section 3.2 allows, in seconds: more than 24 hours either way.
    static let offsetSeconds: ClosedRange<Int64> = -89_999...93_599
    /// The first and the last whole second that an `Instant` can represent.
    static let earliest = Int64.min / 1000
    static let latest = Int64.max / 1000
}

extension Zone: Hashable {
    /// Hashes the name alone: zones of one name and different rules are rare, and equality tells
    /// them apart.
    public func hash(into hasher: inout Hasher) { hasher.combine(identifier) }

    public static func == (a: Zone, b: Zone) -> Bool {
        a.identifier == b.identifier && a.transitions == b.transitions && a.offsets == b.offsets
            && a.earliestOffset == b.earliestOffset && a.rule == b.rule
    }
}

extension Zone.Span {
    /// The part of the span that an `Instant` can represent; a file may hold times far beyond.
    fileprivate var clamped: Zone.Span {
        Zone.Span(
            start: min(max(start, Zone.earliest), Zone.latest),
            end: min(max(end, Zone.earliest), Zone.latest), offset: offset)
    }
}

extension Zone {
    /// An instant at which a zone's clocks are put forward or back.
    public struct Change: Hashable, Sendable {
        /// The first instant with the new offset.
        public var at: Instant
        /// How far the clocks are ahead of UTC before the change.
        public var before: Duration
        /// How far the clocks are ahead of UTC after the change.
        public var after: Duration

        /// Whether the clocks skip a span of time; otherwise they repeat one.
        public var isForward: Bool { after > before }
    }

    /// Returns the changes of offset within a range of instants, in order.
    ///
    /// A transition that changes only a zone's abbreviation or its daylight saving flag does not
    /// count. The cost is that of the changes found: two a year in most zones that have any.
    public func changes(in stretch: Range<Instant>) -> [Change] {
        var changes: [Change] = []
        // Starts at the second before the stretch, so that a change at its first instant is found.
        let first = max(stretch.lowerBound.millisecondsSince1970, Int64.min + 1)
        var span = span(at: Instant(millisecondsSince1970: first - 1).secondsSince1970)
        while span.end < Zone.latest {
            let at = Instant(secondsSince1970: span.end)
            guard at < stretch.upperBound else { break }
            let next = self.span(at: span.end)
            if next.offset != span.offset, at >= stretch.lowerBound {
                changes.append(
                    Change(at: at, before: .seconds(span.offset), after: .seconds(next.offset)))
            }
            span = next
        }
        return changes
    }
}

/// The reason why bytes are not a usable time zone.
public struct ZoneError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong with the bytes.
    public enum Fault: Error, Hashable, Sendable {
        /// The bytes do not begin with `TZif`.
        case notTZif
        /// The version is older than 2, which has no 64-bit times and no footer.
        case version(UInt8)
        /// The bytes end early: `needed` bytes were needed from `position` on.
        case truncated(position: Int, needed: Int)
        /// The times count leap seconds, as in the `right/` zones.
        case leapSeconds
        /// A part of the file violates RFC 8536.
        case malformed(got: String, wanted: String)
        /// The rule in the footer cannot be parsed from this byte of the footer on.
        case rule(position: Int, wanted: String)
    }

    public var identifier: String
    public var fault: Fault

    public var description: String {
        let what =
            switch fault {
            case .notTZif: "got other bytes, wanted `TZif` at the start"
            case .version(let byte): "got version byte \(byte), wanted `2` or later"
            case .truncated(let position, let needed):
                "ends early, wanted \(needed) bytes from byte \(position) on"
            case .leapSeconds: "got times with leap seconds, wanted times without"
            case .malformed(let got, let wanted): "got \(got), wanted \(wanted)"
            case .rule(let position, let wanted):
                "rule in the footer, byte \(position): wanted \(wanted)"
            }
        return "time zone `\(identifier)`: \(what)"
    }
}

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
