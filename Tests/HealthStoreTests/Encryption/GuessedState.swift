import HealthModel
import ClarityTestSupport
import Database
import Platform
import Testing

@testable import HealthStore
@testable import ClarityScheduler

/// A state directory as an attacker reads it, and what the attacker can compute without the key.
struct GuessedState {
    static let user = "0c5bd7a6-3f0e-4c62-9d6c-6c9f5b6f7a11"

    let folder = StateFolder()
    let store: HealthStore

    init(_ environment: [String: String]) throws {
        store = try folder.open(environment, clock: ManualClock(noon))
        try store.sessions.save(
            Session(
                userID: GuessedState.user, email: "ada@example.com", accessToken: Secret("access"),
                refreshToken: Secret("refresh"), expiresAt: noon))
    }

    /// Returns two samples of a kind that differ only in their values.
    static func values(of kind: SampleKind) -> (Sample, Sample) {
        let start = Instant(secondsSince1970: 1_760_000_000)
        let end = start + .seconds(kind == .sleep ? 28_800 : 60)
        func sample(_ value: Sample.Value) -> Sample {
            Sample(kind: kind, start: start, end: end, value: value, source: "Ada's watch")
        }
        switch kind {
        case .bloodPressure:
            return (
                sample(.pressure(systolic: 99, diastolic: 60)),
                sample(.pressure(systolic: 181, diastolic: 110))
            )
        case .sleep:
            var whole = SleepNight(totalMinutes: 455, efficiency: 0.9479166)
            (whole.deepMinutes, whole.remMinutes, whole.minutesToSleep) = (70, 95, 12)
            return (
                sample(.sleep(SleepNight(totalMinutes: 9, efficiency: 1))), sample(.sleep(whole))
            )
        case .activity:
            var (little, much) = (ActivityDay(), ActivityDay())
            little[.steps] = 7
            for kind in ActivityDay.kinds { much[kind] = 12_345.678 }
            return (sample(.activity(little)), sample(.activity(much)))
        case .mood, .stress, .cognitive, .environmental, .workout:
            let all = kind.measures.map { ($0, IntakeCheck.range(of: $0).upperBound - 0.125) }
            return (
                sample(.values(MeasuredValues([kind.measures[0]: 2]))),
                sample(.values(MeasuredValues(Dictionary(uniqueKeysWithValues: all))))
            )
        default: return (sample(.single(7)), sample(.single(161.125)))
        }
    }

    /// The parts of the state directory, besides the outbox's samples, that hold personal data.
    enum Part: CaseIterable {
        case metric, archivedMetric, metricWithFewerFields, insight, fullInsight, profile, minutes
        case analysis, insightRequest, serverWords, meteredBytes
        case partialAggregate, packed, packedMonth, records

        func write(_ isFirst: Bool, into store: HealthStore) throws {
            let number = isFirst ? "7" : "161.12500000001"
            let text = String(repeating: isFirst ? "calm " : "a restless week, ", count: 40)
            switch self {
            case .metric: try pull(#"{"heart_rate":\#(number)}"#, at: 0, store)
            case .archivedMetric:
                try pull(#"{"heart_rate":\#(number)}"#, at: 0, store)
                try pull(#"{"heart_rate":60}"#, at: 9, store)
            case .metricWithFewerFields:
                let stages = #""sleep_stages":{"awake":30,"deep":120,"light":240,"rem":90}"#
                try pull(
                    #"{"total_sleep_minutes":480\#(isFirst ? "" : "," + stages)}"#, at: 0, store)
            case .insight:
                _ = try store.analyses.upsertInsights(
                    [
                        CachedRow(
                            id: "5e0f0a52", type: CachedRow.insightPreview, timestamp: noon,
                            json: Array(text.utf8))
                    ], syncedAt: noon)
            case .fullInsight:
                try store.analyses.keep(
                    FullInsight(id: "5e0f0a52", generatedAt: noon, json: Array(text.utf8)), at: noon
                )
            case .profile:
                try store.cache.storeProfile(
                    Array(#"{"display_name":"\#(isFirst ? "Al" : "Maximiliane")"}"#.utf8),
                    syncedAt: noon)
            case .minutes:
                try store.analyses.keep([
                    StepDay(
                        day: CivilDay(daysSince1970: 100), zone: "UTC",
                        counts: [isFirst ? 0 : 4_000_000], knownMinutes: 1440)
                ])
            case .analysis:
                let analysis = try store.analyses.queue(
                    of: CivilDay(daysSince1970: 100), as: .steps, knownMinutes: 10_080, at: noon)
                try store.analyses.sending(analysis)
                let numbers = isFirst ? ["m10": 1.0] : ["m10": 1, "l5": 2, "depression_risk": 0.5]
                try store.analyses.complete(
                    analysis, processingID: "p",
                    AnalysisResult(
                        numbers: numbers, embedding: isFirst ? [] : [0.25, 0.5],
                        json: Array(text.utf8)), at: noon)
            case .insightRequest:
                let analysis = try completedAnalysis(store)
                var matter = testMatter
                if !isFirst { matter.numbers["depression_risk"] = 0.5 }
                _ = try store.analyses.queueInsight(of: analysis, matter, at: noon)
            case .serverWords:
                _ = try store.outbox.enqueue(heartRates(0..<1))
                try store.change { connection in
                    try store.outbox.storeWords(
                        isFirst ? "low" : "above what is taken", of: 1, connection)
                }
            case .partialAggregate:
                let key = PartialAggregateKey(kind: .steps, period: 700)
                try store.outbox.contribute([key], of: isFirst ? "/a" : "/export/a.xml") { _, _ in
                    [UInt8](repeating: 7, count: isFirst ? 7 : 900)
                }
            case .packed, .packedMonth:
                let samples = heartRates(0..<(self == .packed ? 1 : 300)).map { sample in
                    var sample = sample
                    if isFirst { sample.value = .single(7) }
                    return sample
                }
                _ = try store.outbox.enqueue(samples)
                while let batch = try store.outbox.nextBatch(limit: 100, at: noon) {
                    try store.outbox.settle(
                        batch, processingID: nil, duplicates: Array(batch.samples.indices),
                        at: noon)
                }
                try store.outbox.pack(atLeast: 1, at: noon)
            case .records:
                _ = try store.archive.keep(
                    archived(0..<300, value: isFirst ? 7 : nil), of: "/a", zone: .utc)
            case .meteredBytes:
                _ = try store.outbox.enqueue(heartRates(0..<1))
                let draw = try store.outbox.nextBatches(
                    limit: 9, rules: [testRules()], at: noon, metered: 1 << 20)
                let batch = try #require(draw.batch)
                try store.outbox.sentMetered(batch, bytes: isFirst ? 301 : 307)
            }
        }

        private func pull(_ json: String, at seconds: Int64, _ store: HealthStore) throws {
            _ = try store.cache.upsert(
                [
                    CachedRow(
                        id: "9f2d6e0a-6a3b-8c1d-9e2f-0a1b2c3d4e5f", type: "heart_rate",
                        timestamp: noon + .seconds(seconds), json: Array(json.utf8))
                ], into: .metrics, syncedAt: noon)
        }
    }

    /// Returns the columns that differ between two states that were made alike except for a value.
    ///
    /// A column that differs under two keys for the same value is random or keyed, so its lengths
    /// are compared. Of every other column the contents are compared. The owner of a batch is
    /// ignored: it is a random number, whose digits vary in number.
    static func differences(
        _ write: (_ isFirst: Bool, HealthStore) throws -> Void
    ) throws -> [String] {
        func cells(_ isFirst: Bool, _ key: [String: String]) throws -> [String: [String]] {
            let state = try GuessedState(key)
            try write(isFirst, state.store)
            return try state.cells()
        }
        let first = try cells(true, firstKey)
        let (rekeyed, second) = (try cells(true, secondKey), try cells(false, firstKey))
        return Set(first.keys).union(second.keys).filter { column in
            if column == "batches.owner" { return false }
            let isKeyed = first[column] != rekeyed[column]
            func seen(_ cells: [String]?) -> [String]? {
                isKeyed ? cells?.map { "\($0.utf8.count)" } : cells
            }
            return seen(first[column]) != seen(second[column])
        }.sorted()
    }

    /// Returns the cells of every column of every table in row order, and the file's size in pages.
    private func cells() throws -> [String: [String]] {
        try store.access { connection in
            var cells: [String: [String]] = [:]
            let tables = try connection.all(
                "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
            ) { (name: $0.text(0), order: $0.integer(1) == 1 ? "1" : "rowid") }
            for (table, order) in tables {
                let columns = try connection.all(
                    "SELECT name FROM pragma_table_info(?)", .text(table)
                ) { $0.text(0) }
                for column in columns {
                    cells["\(table).\(column)"] = try connection.all(
                        "SELECT quote(\(column)) FROM \(table) ORDER BY \(order)"
                    ) { $0.text(0) }
                }
            }
            cells["pages of the file"] = try connection.all("PRAGMA page_count") { $0.text(0) }
            return cells
        }
    }

    /// Whether a file of the database contains the bytes.
    func files(contain bytes: [UInt8]) -> Bool {
        folder.contents.contains { name, content in
            name.hasPrefix("health.db") && content.firstRange(of: bytes) != nil
        }
    }

    /// Returns what an attacker who guesses a sample can compute: the backend's id as text and as
    /// bytes, and plain hashes of the sample's identity.
    static func unkeyedHashes(of sample: Sample, _ ids: MetricIDs) -> [[UInt8]] {
        let id = ids(sample).description
        let hash = blake2b(sample.identity)
        return [
            Array(id.utf8), Array(id.uppercased().utf8), hexDecoded(id.utf8.filter { $0 != 0x2D }),
            hash, Array(hash.prefix(16)), Array(hash.prefix(8)), Array(hexEncoded(hash).utf8),
        ].compactMap { $0 }
    }
}
