import HealthModel

/// The nights that an app has made, of which a file may have several by one source for one night.
struct WholeNights {
    /// The most nights that are kept, of 44 years.
    private static let capacity = 16_384

    private var nights: [SleepFolding.Night] = []

    var count: Int { nights.count }

    /// Adds a night; returns why it is not taken.
    mutating func add(_ night: SleepFolding.Night) -> RecordRefusal? {
        guard nights.count < WholeNights.capacity else { return .tooManyStages }
        nights.append(night)
        return nil
    }

    /// Returns the nights as sessions. Of those of one source that are the same night, the one with
    /// the most sleep stays, and of equal ones the one with more deep and REM sleep.
    func sessions() -> [SleepSession] {
        var kept: [Int: [SleepFolding.Night]] = [:]
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
    private static func areSame(_ a: SleepFolding.Night, _ b: SleepFolding.Night) -> Bool {
        2 * (min(a.end, b.end) - max(a.start, b.start)) > min(a.end - a.start, b.end - b.start)
    }

    /// Orders nights by everything that they have, so that equal ones alone are in any order.
    private static func isBetter(_ a: SleepFolding.Night, _ b: SleepFolding.Night) -> Bool {
        func order(_ night: SleepFolding.Night) -> [Double] {
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
