import ClarityHost
import ClarityScheduler
import ClarityTestSupport
import ClaritySystem
import SQLite
import Testing

@Suite("Decisions in the history")
struct DecisionStoreTests {
    let folder: TemporaryFolder
    let store: SQLiteRunStore
    let jobs: JobSet

    init() throws {
        folder = try TemporaryFolder()
        store = try SQLiteRunStore(
            in: StateDirectory(path: "\(folder.path)/state"), uniqueNumber: 1)
        jobs = JobSet(
            [
                Job(
                    id: try #require(JobID("a")), kind: JobKind("work"),
                    schedule: .every(.seconds(60)), constraints: [.connected], catchUp: .none),
                Job(id: try #require(JobID("b")), kind: JobKind("work")),
            ], origin: "first")
    }

    @Test func `a run's decisions are known in their order and can be made again`() throws {
        var planner = Planner(jobs: jobs, owner: store.leaseLock.owner, seed: 7)
        var made: [Decision] = []
        var offline = Conditions.everythingAllowed
        offline.connected.value = false
        made += try decide(&planner, [.tick], 0, offline)
        made += try decide(&planner, [.conditionsChanged], 5)
        made += try decide(&planner, [.requested([jobs.jobs[1].id], isForced: false)], 6)
        made += try decide(
            &planner,
            [.finished(RunID(1), .success([("done", 2)])), .finished(RunID(2), .failure)], 7)

        let history = try RunHistory(inDirectory: "\(folder.path)/state")
        let first = try history.decisions(of: RunID(1))

        #expect(made.count == 4)
        #expect(first == [made[0], made[1], made[3]])
        #expect(try history.decisions(of: RunID(2)) == [made[2], made[3]])
        #expect(try history.decisions(of: RunID(9)) == [])
        for decision in made {
            let again = decision.replayed { $0 == "first" ? jobs : nil }
            #expect(again == decision.outcome)
            #expect(again?.isEmpty == false)
        }
    }

    @Test func `the text of an origin is kept with the first decision about its jobs`() throws {
        let read = JobSet(jobs.jobs, origin: "first", text: Array("version: 1".utf8))
        var planner = Planner(jobs: read, owner: store.leaseLock.owner, seed: 7)
        let before = try RunHistory(inDirectory: "\(folder.path)/state").origin("first")

        try decide(&planner, [.tick], 0)
        try store.decide { _ in [.keepOrigin("first", text: [1])] }

        let history = try RunHistory(inDirectory: "\(folder.path)/state")
        #expect(before == nil)
        #expect(try history.origin("first") == Array("version: 1".utf8))
        #expect(try history.origin("another") == nil)
    }

    @discardableResult
    private func decide(
        _ planner: inout Planner, _ events: [Planner.Event], _ second: Int,
        _ conditions: Conditions = .everythingAllowed
    ) throws -> [Decision] {
        var made: [Decision] = []
        var next = planner
        try store.decide { ledger in
            let plan = next.handle(
                events,
                at: Moment(wall: .noon + .seconds(second), elapsed: .seconds(second)),
                conditions: conditions, ledger: ledger)
            for case .recordDecision(let decision) in plan.changes { made.append(decision) }
            return plan.changes
        }
        planner = next
        return made
    }
}
