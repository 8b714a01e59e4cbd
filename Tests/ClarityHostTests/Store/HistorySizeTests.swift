import ClarityHost
import ClarityScheduler
import Platform
import ClarityTestSupport
import Database
import Testing

@Suite("The size of the history")
struct HistorySizeTests {
    @Test func `a run of a command adds at most 600 bytes to the history`() throws {
        let folder = try TemporaryFolder()
        let directory = try StateDirectory(path: "\(folder.path)/state")
        let store = try SQLiteRunStore(in: directory, uniqueNumber: 1)
        let job = Job(
            id: try #require(JobID("nightly-backup")), kind: .command,
            schedule: .every(.seconds(60)))
        var planner = Planner(jobs: JobSet([job]), owner: store.leaseLock.owner, seed: 1)
        let output = AttemptOutput(
            head: Array("saved 3 files, 41 KiB\n".utf8), leftOutBytes: 0, tail: [])
        let end = AttemptEnd(
            .reported(.success), peakMemoryBytes: 4_198_400, output: output)
        func decide(_ events: [Planner.Event], after second: Int) throws -> Plan {
            let moment = Moment(wall: .noon + .seconds(second), elapsed: .seconds(second))
            var plan = Plan()
            var next = planner
            try store.decide { ledger in
                plan = next.handle(
                    events, at: moment, conditions: .everythingAllowed, ledger: ledger)
                return plan.changes
            }
            planner = next
            return plan
        }
        let connection = try FileConnection(path: "\(directory.path)/history.db", access: .readOnly)
        func size() throws -> Int64? {
            try connection.first(
                "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            ) { $0.integer(0) }
        }
        var sizes: [Int64] = []

        for minute in 0...500 {
            let started = try decide([.tick], after: minute * 60).started
            let run = try #require(started.first?.run)
            _ = try decide([.finished(run, end)], after: minute * 60 + 1)
            if minute == 100 || minute == 500 { sizes.append(try #require(try size())) }
        }

        let growth = (sizes[1] - sizes[0]) / 400
        #expect(growth <= 600, "\(growth) bytes")
        #expect(growth >= 100, "\(growth) bytes")
    }
}
