import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Testing

/// Kills the import of a source at several points, one after the other in one state directory.
@Suite("A killed import and a second one come to the same", .timeLimit(.minutes(10)))
struct ImportKillTests {
    private static let key = ["CLARITY_JOBS_KEY": String(repeating: "5c", count: 32)]
    /// The number of heart rates, enough for several portions. Every hundredth appears twice.
    private static let heartRates = 60_000

    @Test func `an import that is killed again and again ends as a whole one does`() async throws {
        let whole = try await playground()
        let killed = try await playground()
        try whole.folder.write("export.xml", Self.export)
        try killed.folder.write("export.xml", Self.export)

        let counting = Faultline(counts: "\(whole.folder.path)/passages")
        _ = try await whole.run(
            "run", "upload",
            environment: Self.key.merging(counting.environment(folder: whole.statePath)) { $1 })
        let commits = try counting.count(of: .commit, program: .worker)
        var hits: [Int] = []
        for nth in [1, commits / 3, commits / 2] {
            hits.append(try await killed.killImport(afterCommit: nth, environment: Self.key))
        }
        _ = try await killed.run("run", "upload", environment: Self.key)

        let rows = try whole.outboxRows()
        // The later ones may have most of it.
        #expect(hits.contains { $0 < Self.heartRates }, "\(hits)")
        #expect(rows.filter { $0.hasPrefix("heart_rate ") }.count == Self.heartRates)
        #expect(rows.filter { $0.hasPrefix("blood_pressure ") }.count == 500)
        let others = try killed.outboxRows()
        #expect(others.count == rows.count)
        // Compared outside the expectation, which would print the whole difference.
        let isSame = others == rows
        #expect(isSame)
        #expect(try StateAudit(statePath: killed.statePath).damage == [])
        // The archive has every record as often as the export has it.
        for playground in [killed, whole] {
            let audit = try await playground.run("audit", environment: Self.key)
            let records = Self.heartRates + Self.heartRates / 100 + 3 * 500
            #expect(audit.output.contains("the archive is sound: \(records) records\n"))
        }
        // The import is complete by now and is not repeated. Without a login, a run waits unless it
        // is forced.
        _ = try await killed.run("run", "upload", "--force", environment: Self.key)
        let notes = try await killed.lastRun(of: "upload")["notes"].elements.compactMap(\.text)
        #expect(notes.contains { $0.contains("is as it was when it was read") }, "\(notes)")
    }

    /// Returns a playground without a backend and with an empty health database.
    private func playground() async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil)
        // There is no export yet.
        _ = try await playground.run("run", "upload", environment: Self.key)
        return playground
    }

    /// Heart rates a minute apart, blood pressures, and steps over some weeks.
    private static var export: [UInt8] {
        var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<HealthData locale=\"en_GB\">\n"
        func record(_ type: String, _ unit: String, _ minute: Int, _ value: Int) {
            let day = minute / 1440
            let date =
                "2024-\(two(1 + day / 28))-\(two(1 + day % 28)) "
                + "\(two(minute / 60 % 24)):\(two(minute % 60)):00 +0000"
            text += "<Record type=\"HKQuantityTypeIdentifier\(type)\" sourceName=\"Watch\" "
            text +=
                "unit=\"\(unit)\" startDate=\"\(date)\" endDate=\"\(date)\" value=\"\(value)\"/>\n"
        }
        for index in 0..<heartRates {
            record("HeartRate", "count/min", index, 60 + index % 40)
            if index.isMultiple(of: 100) {
                record("HeartRate", "count/min", index, 60 + index % 40)
            }
        }
        for index in 0..<500 {
            record("BloodPressureSystolic", "mmHg", 60 * index, 110 + index % 30)
            record("BloodPressureDiastolic", "mmHg", 60 * index, 70 + index % 20)
            record("StepCount", "count", 60 * index, index)
        }
        return Array("\(text)</HealthData>\n".utf8)
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

extension Playground {
    /// Starts the upload, and kills its worker after a commit, and the scheduler too, because it would
    /// start another worker.
    ///
    /// - Returns: the number of samples in the outbox then.
    fileprivate func killImport(
        afterCommit nth: Int, environment: [String: String]
    ) async throws -> Int {
        let faultline = Faultline(counts: "\(folder.path)/counts")
        faultline.reset()
        let kill = Faultline.Rule(
            program: .worker, point: .commit, when: .after, nth: nth, action: "kill-both")
        let ended = try await run(
            "run", "upload",
            environment: environment.merging(
                faultline.environment(rules: [kill], folder: statePath)
            ) { $1 })
        #expect(ended.status == 137, "\(kill): \(ended)")
        return try FileConnection(path: "\(statePath)/health.db", access: .readWrite).outboxRows()
    }
}

extension Connection {
    /// Returns the number of samples in the outbox: the highest id, because no sample was removed.
    fileprivate func outboxRows() throws -> Int {
        try first("SELECT max(id) FROM outbox") { Int($0.integer(0)) } ?? 0
    }
}
