import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import clarity_jobs

@Suite("Merging the occurrences of jobs")
struct MergedOccurrencesTests {
    private func job(_ schedule: Schedule, _ number: Int = 1) throws -> JobOccurrences {
        JobOccurrences(
            of: try #require(JobID("job-\(number)")), schedule, anchor: .noon, after: .noon,
            zone: .utc, aroundChanges: false)
    }

    @Test func `occurrences are sorted by time, then by the order of the jobs`() throws {
        let merged = MergedOccurrences([
            try job(.every(.seconds(3))), try job(.at(.noon + .seconds(5))),
            try job(.every(.seconds(2))), try job(.at(.noon)),
        ])

        let first = merged.prefix(8).map { [Int(($0.at - .noon).components.seconds), $0.job] }

        #expect(first == [[2, 2], [3, 0], [4, 2], [5, 1], [6, 0], [6, 2], [8, 2], [9, 0]])
    }

    @Test func `the merge ends when every schedule has ended`() throws {
        let merged = MergedOccurrences(
            try (0..<5).map { try job(.at(.noon + .seconds(Int64(5 - $0)))) })

        #expect(merged.map(\.job) == [4, 3, 2, 1, 0])
        #expect(MergedOccurrences([]).map(\.job) == [])
    }

    @Test func `a merge of many schedules equals their sorted union`() throws {
        var draw = SeededGenerator(seed: 20_261_121)
        let periods = (0..<300).map { _ in Int64.random(in: 1...500, using: &draw) }
        let end = Instant.noon + .seconds(1000)

        let merged = MergedOccurrences(try periods.map { try job(.every(.seconds($0))) })
            .prefix { $0.at <= end }

        let sorted = periods.enumerated().flatMap { index, period in
            (1...1000 / period).map {
                MergedOccurrences.Element(at: .noon + .seconds($0 * period), job: index)
            }
        }.sorted()
        #expect(Array(merged) == sorted)
    }
}
