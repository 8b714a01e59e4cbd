@testable import ClarityHost
import ClarityScheduler
import ClarityTestSupport
import Glibc
import Testing

@Suite("What tells other processes to look")
struct NudgesTests {
    let bed: SQLiteRunStoreBed
    let job: JobID

    init() throws {
        bed = try SQLiteRunStoreBed()
        job = try #require(JobID("a"))
    }

    @Test func `a run, a pause and a request wake the others and not oneself`() throws {
        let (mine, owner) = try bed.open()
        let (_, other) = try bed.open()
        let (own, theirs) = (try watch(owner), try watch(other))
        defer { [own, theirs].forEach { close($0.descriptor) } }
        let run = Run(
            id: RunID(1), job: job, kind: JobKind("work"), trigger: .manual, scheduledFor: .noon,
            enqueuedAt: .noon)
        let changes: [LedgerChange] = [
            .put(run), .setPause(job, Pause(since: .noon)), .setPause(job, nil),
        ]

        for change in changes {
            try mine.decide { _ in [change] }

            #expect(theirs.takeEvents(), "\(change)")
            #expect(!own.takeEvents(), "\(change)")
        }
    }

    @Test func `what changes nothing for others wakes nobody`() throws {
        let (mine, _) = try bed.open()
        let (_, other) = try bed.open()
        let watch = try watch(other)
        defer { close(watch.descriptor) }
        let clock = JobClock(anchor: .noon, considered: .noon)
        let outcome = LedgerChange.recordOutcome(
            job, .skipped, first: .noon, latest: .noon, count: 1, run: nil)

        try mine.decide { [job] _ in [.setClock(job, clock), outcome] }
        try mine.decide { _ in [] }
        #expect(throws: RunStoreError.self) {
            try mine.decide { [job] _ in [.setPause(job, Pause(since: .noon)), outcome] }
        }

        #expect(!watch.takeEvents())
    }

    private func watch(_ owner: String) throws -> FileWatch.Watch {
        try #require(FileWatch.Watch(["\(bed.path)/owners/\(owner)"]))
    }
}
