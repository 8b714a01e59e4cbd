import HealthModel
import ClarityScheduler

/// Makes nights from the stages of sleep.
///
/// Stages of one source belong together while less than 2 h lie between them. Where sessions of
/// several sources overlap, one source counts, and each night has one source. A source with sleep
/// precedes one with only time in bed, and then a source without unknown stages one with some;
/// otherwise the rank decides. A session with time of which only the unknown stage is known makes
/// no night. A session between morning and evening is a nap, and gives way only
/// to what it overlaps. A night that an app has made is a session by itself.
struct SleepAggregation {
    /// The counts of nights made from the stages.
    struct Outcome: Equatable {
        var made: Int64 = 0
        /// The number of nights that may go on.
        var unfinished: Int64 = 0
        /// When the first of those cannot go on any more.
        var dueAt: Int64?
        /// The number of nights with only time in bed.
        var withoutSleep: Int64 = 0
        /// The number of nights of an app that gave way to another source, or to a better one of
        /// their own.
        var outranked: Int64 = 0
    }

    /// A night and its source, in seconds since 1970-01-01T00:00:00Z.
    struct Night: Equatable {
        var start: Int64
        var end: Int64
        var source: Int
        var sleep: SleepNight

        /// Returns the night as a sample of the source with a name; an empty one is no name.
        func sample(ofSource name: String) -> Sample {
            Sample(
                kind: .sleep, start: Instant(secondsSince1970: start),
                end: Instant(secondsSince1970: end), value: .sleep(sleep),
                source: name.isEmpty ? nil : name)
        }
    }

    /// The time that separates two nights: 2 h.
    static let gap: Int64 = 7200
    /// The longest session: a day. A longer one is cut at each noon.
    static let longest: Int64 = 86_400
    /// The longest time in bed: 16 h. A longer one is a phone that lay on its charger.
    static let longestInBed: Int64 = 57_600
    /// The most records that are kept: 8 MB and, cut at noon, at most 16 MB more. 30 years of forty
    /// a night are fewer.
    static let capacity = 524_288

    private let zone: Zone
    private let capacity: Int
    private var records: [SleepRecord] = []
    private var wholeNights = WholeNights()
    private var zones: [Zone?] = []
    private var zoneNames: [String: UInt8] = [:]

    init(zone: Zone, capacity: Int = SleepAggregation.capacity) {
        self.zone = zone
        self.capacity = capacity
    }

    /// Adds a stage.
    ///
    /// - Returns: Why it is not taken, otherwise `nil`: it is longer than a day, or time in bed of
    ///   more than 16 h, or there is no room for it.
    mutating func add(
        _ stage: SleepStage, source: Int, start: Int64, end: Int64
    ) -> RecordRefusal? {
        let longest = stage <= .unknown ? SleepAggregation.longestInBed : SleepAggregation.longest
        guard end - start <= longest else { return .tooLong }
        guard records.count < capacity else { return .tooManyStages }
        records.append(
            SleepRecord(
                start: start, seconds: UInt32(clamping: end - start),
                source: UInt16(clamping: source), stage: stage))
        return nil
    }

    /// Adds a night that an app has made. It is over.
    mutating func add(
        _ night: SleepNight, source: Int, start: Int64, end: Int64
    ) -> RecordRefusal? {
        wholeNights.add(Night(start: start, end: end, source: source, sleep: night))
    }

    /// Notes the time zone of the last record; at most 255 names are looked up.
    mutating func setZone(_ name: String, _ find: (String) -> Zone?) {
        guard !records.isEmpty else { return }
        var place = zoneNames[name]
        if place == nil, zones.count < 255 {
            place = UInt8(zones.count)
            zoneNames[name] = place
            zones.append(find(name))
        }
        if let place { records[records.count - 1].zone = place }
    }

    /// Passes on the nights in the order of their starts, and forgets everything.
    ///
    /// - Parameters:
    ///   - order: the position of each source in the ranking, by its index.
    ///   - until: when the records end, in seconds; a night that may go on then is not passed on.
    /// - Throws: the errors of `each`.
    mutating func resolve(
        order: [Int], until: Int64, _ each: (Night) throws -> Void
    ) rethrows -> Outcome {
        records.sort {
            ($0.source, $0.start, $0.seconds, $0.stage.rawValue)
                < ($1.source, $1.start, $1.seconds, $1.stage.rawValue)
        }
        var outcome = Outcome()
        let whole = wholeNights.sessions()
        let sessions = cutAtNoon(sessions()) + whole
        outcome.outranked = Int64(wholeNights.count)
        for session in chosen(among: sessions, order) {
            if let sleep = session.whole {
                outcome.outranked -= 1
                outcome.made += 1
                try each(
                    Night(
                        start: session.start, end: session.end, source: session.source,
                        sleep: sleep))
                continue
            }
            guard session.end + SleepAggregation.gap <= until else {
                outcome.unfinished += 1
                let due = session.end + SleepAggregation.gap
                outcome.dueAt = min(outcome.dueAt ?? due, due)
                continue
            }
            let timeline = SleepTimeline(records[session.records])
            // A sum of the other stages would be too small.
            if timeline.hasUnknown { continue }
            guard let sleep = timeline.night else {
                outcome.withoutSleep += 1
                continue
            }
            try each(
                Night(
                    start: session.start, end: session.end, source: session.source, sleep: sleep))
            outcome.made += 1
        }
        records = []
        wholeNights = WholeNights()
        return outcome
    }

    /// Returns the sessions that count, sorted by start.
    private func chosen(among sessions: [SleepSession], _ order: [Int]) -> [SleepSession] {
        var kept: [SleepSession] = []
        var cluster: [SleepSession] = []
        var end = Int64.min
        let sessions = sessions.sorted { ($0.start, $0.source) < ($1.start, $1.source) }
        for session in sessions {
            if session.start >= end {
                kept += SleepAggregation.best(of: cluster, order)
                cluster = []
            }
            cluster.append(session)
            end = max(end, session.end)
        }
        kept += SleepAggregation.best(of: cluster, order)
        var nights: [Int: [SleepSession]] = [:]
        var naps: [SleepSession] = []
        for session in kept {
            let zone = zone(of: session)
            if session.isNap(in: zone) {
                naps.append(session)
            } else {
                nights[session.night(in: zone), default: []].append(session)
            }
        }
        let chosen = nights.values.flatMap { SleepAggregation.best(of: $0, order) }
        return (naps + chosen).sorted {
            ($0.start, $0.source, $0.end) < ($1.start, $1.source, $1.end)
        }
    }

    /// Returns the sessions of the best source among them.
    private static func best(of sessions: [SleepSession], _ order: [Int]) -> [SleepSession] {
        guard sessions.count > 1 else { return sessions }
        let sleepers = Set(sessions.filter(\.hasSleep).map(\.source))
        let partial = Set(sessions.filter(\.hasUnknown).map(\.source))
        func rank(_ source: Int) -> (Int, Int, Int) {
            (
                sleepers.contains(source) ? 0 : 1, partial.contains(source) ? 1 : 0, order[source]
            )
        }
        let best = sessions.map(\.source).min { rank($0) < rank($1) }
        return sessions.filter { $0.source == best }
    }

    private func zone(of session: SleepSession) -> Zone {
        (session.zone < zones.count ? zones[Int(session.zone)] : nil) ?? zone
    }

    /// Cuts each session that is too long for one night into its nights, at noon on its clock. The
    /// records of such a session are added again behind all others, cut in two where they span a
    /// noon.
    private mutating func cutAtNoon(_ sessions: [SleepSession]) -> [SleepSession] {
        var cut: [SleepSession] = []
        for session in sessions {
            guard session.end - session.start > SleepAggregation.longest else {
                cut.append(session)
                continue
            }
            let zone = zone(of: session)
            var nights: [Int: [SleepRecord]] = [:]
            for record in records[session.records] {
                for (night, part) in record.cutAtNoon(in: zone) {
                    nights[night, default: []].append(part)
                }
            }
            for (_, parts) in nights.sorted(by: { $0.key < $1.key }) {
                let place = records.count
                records += parts
                cut.append(
                    SleepSession(
                        records: place..<records.count, source: session.source,
                        start: parts.map(\.start).min() ?? session.start,
                        end: parts.map(\.end).max() ?? session.end,
                        hasSleep: parts.contains(where: \.stage.isSleep),
                        hasUnknown: parts.contains { $0.stage == .unknown }, zone: session.zone))
            }
        }
        return cut
    }

    /// Cuts the sorted records by source, and where 2 h or more lie between them.
    private func sessions() -> [SleepSession] {
        var sessions: [SleepSession] = []
        for (place, record) in records.enumerated() {
            let hasSleep = record.stage.isSleep
            if var last = sessions.last, last.source == Int(record.source),
                record.start < last.end + SleepAggregation.gap
            {
                last.records = last.records.lowerBound..<place + 1
                last.end = max(last.end, record.end)
                last.hasSleep = last.hasSleep || hasSleep
                last.hasUnknown = last.hasUnknown || record.stage == .unknown
                if last.zone == 255 { last.zone = record.zone }
                sessions[sessions.count - 1] = last
            } else {
                sessions.append(
                    SleepSession(
                        records: place..<place + 1, source: Int(record.source),
                        start: record.start, end: record.end, hasSleep: hasSleep,
                        hasUnknown: record.stage == .unknown, zone: record.zone))
            }
        }
        return sessions
    }
}

/// The nights that an app has made, of which a file may have several by one source for one night.
struct WholeNights {
    /// The most nights that are kept, of 44 years.
    private static let capacity = 16_384

    private var nights: [SleepAggregation.Night] = []

    var count: Int { nights.count }

    /// Adds a night; returns why it is not taken.
    mutating func add(_ night: SleepAggregation.Night) -> RecordRefusal? {
        guard nights.count < WholeNights.capacity else { return .tooManyStages }
        nights.append(night)
        return nil
    }

    /// Returns the nights as sessions. Of those of one source that are the same night, the one with
    /// the most sleep stays, and of equal ones the one with more deep and REM sleep.
    func sessions() -> [SleepSession] {
        var kept: [Int: [SleepAggregation.Night]] = [:]
        for night in nights.sorted(by: WholeNights.isBetter) {
            let others = kept[night.source] ?? []
            guard !others.contains(where: { WholeNights.areSame($0, night) }) else { continue }
            kept[night.source, default: []].append(night)
        }
        return kept.values.joined().map { night in
            SleepSession(
                records: 0..<0, source: night.source, start: night.start, end: night.end,
                hasSleep: true, zone: 255, whole: night.sleep)
        }
    }

    /// Whether two have more than half of the shorter one in common, as in `AggregateTime`.
    private static func areSame(_ a: SleepAggregation.Night, _ b: SleepAggregation.Night) -> Bool {
        2 * (min(a.end, b.end) - max(a.start, b.start)) > min(a.end - a.start, b.end - b.start)
    }

    /// Orders nights by everything that they have, so that equal ones alone are in any order.
    private static func isBetter(_ a: SleepAggregation.Night, _ b: SleepAggregation.Night) -> Bool {
        func order(_ night: SleepAggregation.Night) -> [Double] {
            let sleep = night.sleep
            return [
                -Double(sleep.totalMinutes), -Double(sleep.deepMinutes + sleep.remMinutes),
                Double(night.start), Double(night.end), -sleep.efficiency,
                -Double(sleep.remMinutes), -Double(sleep.awakeMinutes),
                Double(sleep.minutesToSleep ?? -1),
            ]
        }
        return order(a).lexicographicallyPrecedes(order(b))
    }
}
