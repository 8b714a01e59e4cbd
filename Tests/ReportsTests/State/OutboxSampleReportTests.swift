import Testing

@testable import HealthStore
@testable import Reports

@Suite struct OutboxSampleReportTests {
    @Test(arguments: [("steps", true), ("activity", true), ("heart_rate", false)])
    func `who discards steps is told that their minutes stay`(kind: String, isTold: Bool) throws {
        let share = OutboxShare(kind: kind, state: .queued, count: 3)

        let question = OutboxAction.discard.question([share], isForgetting: false)

        #expect(question.hasPrefix("  3 \(kind) queued\nGive up 3 samples? The values are removed"))
        #expect(question.hasSuffix("[y/N] "))
        #expect(
            question.contains("the minutes of steps that `pat-analysis` sends stay") == isTold)
    }
}
