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
