import ClarityScheduler
import Testing

@testable import Platform

// Swift Testing has an `ExitStatus` of its own.
typealias ExitStatus = Platform.ExitStatus

@Suite("Exit statuses")
struct ExitStatusTests {
    @Test(arguments: [
        (RunState.succeeded, nil, nil, ExitStatus.done), (.skipped, nil, nil, .done),
        (.enqueued, nil, nil, .deferred), (.running, nil, nil, .deferred),
        (.cancelled, nil, nil, .failed), (.failed, Failure.Category.work, nil, .failed),
        (.failed, .unreachable, nil, .unreachable), (.failed, .credential, nil, .credential),
        (.failed, .configuration, nil, .configuration), (.failed, .disk, nil, .disk),
        (.failed, .internalFault, nil, .internalFault),
        (.failed, .work, StopReason.timeout, .timeout),
    ])
    func `a run's end decides the status`(
        state: RunState, category: Failure.Category?, stop: StopReason?, status: ExitStatus
    ) throws {
        var run = Run(
            id: RunID(1), job: try #require(JobID("a")), kind: JobKind("work"),
            trigger: .manual, scheduledFor: Instant(secondsSince1970: 0),
            enqueuedAt: Instant(secondsSince1970: 0))
        run.state = state
        run.failure = category.map { Failure($0, "because") }
        run.stopReason = stop

        #expect(ExitStatus(of: run) == status)
    }

    @Test func `of several a failure counts before a deferral, and that before success`() {
        #expect(ExitStatus.done.joined(with: .deferred) == .deferred)
        #expect(ExitStatus.deferred.joined(with: .failed) == .failed)
        #expect(ExitStatus.failed.joined(with: .deferred) == .failed)
        #expect(ExitStatus.disk.joined(with: .failed) == .disk)
        #expect(ExitStatus.failed.joined(with: .disk) == .disk)
        #expect(ExitStatus.credential.joined(with: .configuration) == .configuration)
        #expect(ExitStatus.configuration.joined(with: .credential) == .configuration)
        #expect(ExitStatus.done.joined(with: .done) == .done)
    }

    @Test func `the numbers are those of the documentation`() {
        let numbers = ExitStatus.allCases.map(\.rawValue)

        #expect(numbers == [0, 1, 64, 65, 66, 69, 70, 74, 75, 77, 78, 124, 130, 143])
    }
}
