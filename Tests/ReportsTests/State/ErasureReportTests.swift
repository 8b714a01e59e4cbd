import HealthModel
import Testing

@testable import HealthStore
@testable import Reports
@testable import ClarityScheduler

@Suite struct ErasureReportTests {
    @Test func `the question says what goes and what cannot go`() {
        var plan = ErasurePlan()
        plan.uploads = [
            ErasableUpload(id: 1, processingID: "p", route: .metrics, isBegun: false)
        ]
        plan.samples = ["steps": 1, "heart_rate": 2]
        plan.start = Instant(secondsSince1970: 1_700_000_000)
        plan.end = Instant(secondsSince1970: 1_700_000_060)
        plan.withoutDeletion = ["sleep_analysis": 1]
        (plan.untraceable, plan.inDoubt) = (1, 2)

        let lines = ErasureReport.question(plan).split(separator: "\n").map { String($0) }
        let wanted: [String] = [
            """
              1 upload with 3 samples (2 heart_rate, 1 steps), measured from 2023-11-14T22:13:20Z \
            to 2023-11-14T22:14:20Z
            """,
            """
              not erasable: 1 sample (1 sleep_analysis); the backend has no deletion for the \
            endpoint that took them
            """,
            "  not erasable: 1 sample that the backend has under an id that is no longer kept here",
            "  not erasable: copies of 2 samples that a send without an answer may have left",
            "Erase 1 upload at the backend for good? The values here stay. [y/N] ",
        ]

        #expect(lines == wanted)
    }

    @Test func `a retry that applies to none says how given up samples come back`() {
        let shares = [OutboxShare(kind: "steps", state: .rejected, count: 2)]

        #expect(
            OutboxAction.retry.reasons(shares, packed: 0) == [
                "2 of these are rejected: a person discarded or erased them; `--reason discarded` or "
                    + "`--reason erased` brings them back"
            ])
    }
}
