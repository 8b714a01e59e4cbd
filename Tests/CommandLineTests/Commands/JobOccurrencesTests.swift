import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import clarity_jobs

@Suite("The occurrences of one job around a change of the clock")
struct JobOccurrencesTests {
    @Test(arguments: [Duration.zero, .seconds(7 * 60), .seconds(3 * 3600)])
    func `a delay does not change the note about a clock change`(delay: Duration) throws {
        let berlin = try Composition.localZone(["TZ": "Europe/Berlin"])
        let schedule = Schedule(.cron(try CronExpression("30 2 * * *"), berlin), delay: delay)
        let now = try #require(Instant(rfc3339: "2026-03-28T12:00:00Z"))
        var occurrences = JobOccurrences(
            of: try #require(JobID("night")), schedule, anchor: now, after: now, zone: berlin,
            aroundChanges: true)

        let found = (0..<5).compactMap { _ in occurrences.next() }

        #expect(
            found.map { ($0 - delay).description } == [
                "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z", "2026-10-24T00:30:00Z",
                "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z",
            ])
        #expect(
            found.map { occurrences.note(on: $0) } == [
                "after the skipped hour", nil, nil, "the first of the repeated hour", nil,
            ])
    }
}
