import HealthStore
import HealthModel
import ClarityScheduler
import ClarityTestSupport

@testable import Backend
@testable import BackendContract
@testable import ClarityJobs

extension WorkBench {
    /// The day before the bench's clock starts.
    static let lastDay = CivilDay(daysSince1970: 20_369)

    /// Stores whole days of steps up to `last`, with 7 steps in each minute from 08:00 to 20:00.
    func keepSteps(days: Int = 7, upTo last: CivilDay = lastDay, known: Int = 1440) throws {
        try store().analyses.keep(
            (0..<days).map { back in
                StepDay(
                    day: CivilDay(daysSince1970: last.daysSince1970 - back), zone: "UTC",
                    counts: (0..<1440).map { (480..<1200).contains($0) ? 7 : 0 },
                    knownMinutes: back == 0 ? 1440 : known)
            })
    }

    /// Returns the newest analysis of the week that ends with `lastDay`.
    func analysis(_ form: AnalysisForm = .steps) throws -> StoredAnalysis? {
        try store().analyses.newest(of: WorkBench.lastDay, as: form)
    }

    /// Stores a completed analysis with all numbers that an insight needs.
    func keepAnalysis(
        numbers: [String: Double] = WorkBench.scores, upTo last: CivilDay = lastDay
    ) throws {
        let store = try store()
        let analysis = try store.analyses.queue(
            of: last, as: .steps, knownMinutes: 9000, at: clock.now)
        try store.analyses.sending(analysis)
        try store.analyses.complete(
            analysis, processingID: "p-\(last)", AnalysisResult(numbers: numbers, json: []),
            at: clock.now)
    }

    static let scores = [
        "sleep_efficiency": 91, "circadian_rhythm_score": 0.75, "depression_risk_score": 0.25,
        "total_sleep_time": 7.5, "wake_after_sleep_onset": 30, "sleep_onset_latency": 12,
        "confidence_score": 0.5,
    ]

    /// Returns the stored insights by their ids.
    func insights() throws -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: try store().cache.rows(of: .insights, limit: 99).map {
                ($0.row.id, String(decoding: $0.row.json, as: UTF8.self))
            })
    }
}

extension HTTPRequest {
    var text: String { String(decoding: body ?? [], as: UTF8.self) }
}
