import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Database
import Testing

@Suite("What is kept here, beside a backend that lies", .timeLimit(.minutes(20)))
struct LocalRowsTests {
    private static func playground(_ url: String) async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            backend: { url: \(url), retry_wait: 1ms }
            defaults: { retry: { attempts: 1 } }
            jobs:
              - { id: refresh, kind: refresh, schedule: { every: 4h }, timeout: 4s, warning: 1s }
              - { id: insights, kind: insight-history, schedule: { every: 12h }, timeout: 4s, warning: 1s }

            """
        }
        try await playground.logIn()
        return playground
    }

    @Test(arguments: StandInBackend.dialects)
    func `no answer removes a row, and none crashes an attempt`(dialect: String) async throws {
        let backend = try HostileBackend(dialect)
        let playground = try await LocalRowsTests.playground(backend.url)
        _ = try await playground.run("run", "refresh", "insights")
        let before = try playground.keptRows()
        try #require(before.values.allSatisfy { $0 > 0 }, "\(before)")
        var generator = ChaosPlan.current.generator("rows-\(dialect)")
        var line = ChaosLine(
            "hostile-server-rows-\(dialect)", measures: [.lost, .crashes])
        var gone: [String] = []

        for round in 0..<ChaosPlan.current.size(slice: 4, whole: 60) {
            let (draw, name) = (generator.next(), "\(round)")
            backend.tamper { asked, answer in
                guard asked.target.contains("/health-data") || asked.target.contains("/history")
                else { return nil }
                let all = Tampering.all(of: answer.body)
                guard !all.isEmpty else { return nil }
                var answer = answer
                answer.body = all[Int(draw % UInt64(all.count))].applied(to: answer.body)
                return answer
            }
            let result = try await playground.run("run", "refresh", "insights")
            let after = try playground.keptRows()
            line.rounds += 1
            for (table, count) in before where after[table, default: 0] < count {
                gone.append("\(table) at \(name): \(count) became \(after[table] ?? 0)")
                line.lost += 1
            }
            let harm = TerminalSafetyTests.steering([("round \(name)", result)])
            if harm.contains(where: { $0.hasSuffix("crashed") }) { line.crashes += 1 }
            gone += harm
        }
        line.tell()

        #expect(gone == [])
        #expect(try StateAudit(statePath: playground.statePath).damage == [])
    }

    /// A backend that always announces one more page holds an attempt until its timeout and no
    /// longer. The client stores the rows once, and the next attempt is not affected.
    @Test(arguments: StandInBackend.dialects)
    func `pages without an end end with the attempt`(dialect: String) async throws {
        let backend = try HostileBackend(dialect)
        let playground = try await LocalRowsTests.playground(backend.url)
        backend.tamper { asked, answer in
            var answer = answer
            var text = String(decoding: answer.body, as: UTF8.self)
            // As many cursors as pages: no two pages name the same next cursor.
            let mark =
                asked.target.utf8.count
                + Int(asked.target.utf8.reduce(0) { ($0 &* 31) ^ Int($1) } & 0xFFFF)
            for (right, wrong) in [
                ("\"has_more\":false", "\"has_more\":true"),
                ("\"has_next\":false", "\"has_next\":true"),
                ("\"next_cursor\":null", "\"next_cursor\":\"c\(mark)\""),
            ] { text = text.replacing(right, with: wrong) }
            answer.body = Array(text.utf8)
            return answer
        }

        let result = try await playground.run("run", "refresh", "insights")
        backend.tamper(nil)
        let again = try await playground.run("run", "refresh", "insights")

        #expect(result.status < 128, "\(result.status) \(result.errors)")
        #expect(again.status == 0, "\(again.errors)")
        #expect(try playground.keptRows().values.allSatisfy { $0 > 0 })
        let audit = try StateAudit(statePath: playground.statePath)
        #expect(audit.runs["running"] == nil)
        #expect(audit.damage == [])
    }
}

extension Playground {
    /// Returns the number of pulled rows in each table.
    fileprivate func keptRows() throws -> [String: Int] {
        let file = try FileConnection(path: "\(statePath)/health.db", access: .readOnly)
        var counts: [String: Int] = [:]
        for table in ["metrics", "insights"] {
            counts[table] = try file.first("SELECT count(*) FROM \(table)") { Int($0.integer(0)) }
        }
        return counts
    }
}
