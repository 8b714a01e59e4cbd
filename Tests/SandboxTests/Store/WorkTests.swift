import JSON
import Testing

@testable import clarity_jobs_sandbox

@Suite struct WorkTests {
    private let fresh = Work(
        id: "w", kind: .metrics, user: "u", result: [:], createdAt: Bench.start,
        updatedAt: Bench.start)

    @Test(arguments: [(1, [100]), (2, [50, 100]), (3, [33, 66, 100]), (7, [14, 28, 42, 57])])
    func `progress is the share of the steps that were taken`(_ steps: Int, _ progress: [Int]) {
        var work = fresh
        var found: [Int] = []

        for _ in progress {
            work = work.advanced(steps: steps, at: Bench.start)
            found.append(work.progress)
        }

        #expect(found == progress)
    }

    @Test func `work that is over no longer changes`() {
        let done = fresh.advanced(steps: 1, at: Bench.start + .seconds(1))

        let later = done.advanced(steps: 1, at: Bench.start + .seconds(2))

        #expect(done.state == .completed)
        #expect(later == done)
    }

    @Test func `more steps than before do not take progress back`() {
        let half = fresh.advanced(steps: 2, at: Bench.start)

        let next = half.advanced(steps: 100, at: Bench.start)

        #expect(half.progress == 50)
        #expect(next.progress == 50)
        #expect(next.state == .processing)
    }

    @Test func `work that ends in failure never says 100`() {
        var work = fresh
        work.endsIn = .failed

        let found = (0..<3).map { _ in
            work = work.advanced(steps: 3, at: Bench.start)
            return work
        }

        #expect(found.map(\.state) == [.processing, .processing, .failed])
        #expect(found.map(\.progress) == [33, 66, 66])
    }

    @Test func `a file of another program is left alone`() throws {
        let directory = try TemporaryDirectory()
        _ = try Store(directory: directory.path).number("PRAGMA application_id = 7")

        #expect(throws: (any Error).self) { try Store(directory: directory.path) }
    }

    @Test(arguments: ["", "1", "_", "1_", "_1", "1_2_3", "1_-", "-_1"])
    func `what is no cursor is refused`(_ text: String) {
        #expect(MetricCursor(text) == nil)
    }
}
