public import HealthModel
public import ClarityScheduler
import Database

/// Facts about a week that an insight request may include: dates and counts, no values and no text.
public struct InsightContext: Hashable, Sendable {
    /// The last day of the week.
    public var lastDay: CivilDay
    public var knownMinutes: Int
    /// The number of samples of each kind in these days.
    public var samples: [SampleKind: Int64]

    /// Creates a context.
    public init(lastDay: CivilDay, knownMinutes: Int, samples: [SampleKind: Int64]) {
        self.lastDay = lastDay
        self.knownMinutes = knownMinutes
        self.samples = samples
    }

    /// One paragraph of at most 400 bytes, with as many of the most frequent kinds as fit.
    public var text: String {
        let first = CivilDay(daysSince1970: lastDay.daysSince1970 - 6)
        var text =
            "Movement of \(first) to \(lastDay), \(knownMinutes) of \(MovementWeek.minutes) minutes "
            + "known."
        let counts = samples.filter { $0.value > 0 }
            .sorted { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }
            .map { "\($0.value) \($0.key.rawValue)" }
        var list = ""
        for count in counts where list.utf8.count + count.utf8.count < 280 {
            list += (list.isEmpty ? "" : ", ") + count
        }
        if !list.isEmpty { text += " Samples of these days: \(list)." }
        return text
    }
}

extension Analyses {
    /// Returns the number of samples that began between two instants, by kind.
    public func sampleCounts(
        from start: Instant, to end: Instant
    ) throws(HealthStoreError) -> [SampleKind: Int64] {
        try store.access { connection in
            var counts: [SampleKind: Int64] = [:]
            let starts = start.secondsSince1970..<max(start, end).secondsSince1970
            let packed = PackedSamples(sealer: sealer, connection: connection)
            for kind in SampleKind.allCases {
                // One query for each kind, because the index begins with the kind.
                var count =
                    try connection.integer(
                        """
                        SELECT count(*) FROM outbox WHERE kind = ? AND start_s >= ? AND start_s < ?
                        """, .text(kind.rawValue), .integer(starts.lowerBound),
                        .integer(starts.upperBound)) ?? 0
                // `audit` names what is damaged; here it cannot be counted.
                _ = try packed.forEach(kind, starts) { _ in count += 1 }
                counts[kind] = count
            }
            return counts
        }
    }
}
