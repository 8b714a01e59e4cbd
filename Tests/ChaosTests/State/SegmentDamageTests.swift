import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Testing

/// Flips one bit of an encrypted row of the archive or of the packed samples.
@Suite("A damaged segment", .timeLimit(.minutes(10)))
struct SegmentDamageTests {
    /// Each flips another bit.
    private static let rounds = 0..<ChaosPlan.current.size(slice: 1, whole: 8)

    private static let all = KnownRecords().adding(at: KnownRecords.august, count: 700)
        .adding(at: KnownRecords.september, count: 500)
        .adding("RespiratoryRate", at: KnownRecords.august, count: 60)

    /// Returns a playground whose backend has all samples, which are packed.
    private func playground() async throws -> (Playground, Sandbox) {
        let playground = try await Playground.quick { url, folder in
            """
            version: 1
            backend: { url: \(url), retry_wait: 1ms }
            sources: [{ kind: apple-health-export, path: \(folder)/export.xml, time_zone: UTC }]
            jobs:
              - { id: upload, kind: bulk-upload, schedule: { every: 30d } }
              - { id: status, kind: processing-status, schedule: { every: 30d } }
              - id: cleanup
                kind: cleanup
                schedule: { every: 30d }
                options: { retain_records: \(daysSinceAugust)d }
            """
        }
        try await playground.logIn()
        try Self.all.write(to: playground)
        for job in ["upload", "status"] {
            let run = try await playground.run("run", job)
            try #require(run.status == 0, "\(run.errors)")
        }
        let packed = try health(playground).first("SELECT count(*) FROM packed_samples") {
            $0.integer(0)
        }
        try #require(packed == 3)
        return (playground, try #require(playground.sandbox))
    }

    /// The days since the middle of September 2026.
    private var daysSinceAugust: Int { (time(nil) - 1_789_430_400) / 86_400 }

    private func health(_ playground: Playground) throws -> Connection {
        try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite)
    }

    /// Flips a drawn bit of the encrypted value of the first row that a condition selects.
    private func turnBit(
        of table: String, where condition: String, _ playground: Playground,
        _ random: inout SeededGenerator
    ) throws {
        let health = try health(playground)
        let found = try health.first("SELECT id, sealed FROM \(table) WHERE \(condition)") {
            (id: $0.integer(0), encrypted: $0.blob(1))
        }
        var row = try #require(found, "\(table)")
        let bit = Int.random(in: 0..<row.encrypted.count * 8, using: &random)
        row.encrypted[bit / 8] ^= 1 << UInt8(bit % 8)
        try health.run(
            "UPDATE \(table) SET sealed = ? WHERE id = ?", .blob(row.encrypted), .integer(row.id))
    }

    /// Uploads one more sample, and checks that it arrives and that the backend stores nothing
    /// twice.
    private func proveUpload(
        at minute: Int = KnownRecords.october, _ playground: Playground, _ sandbox: Sandbox,
        _ what: String
    ) async throws -> KnownRecords {
        let more = Self.all.adding(at: minute, count: 1)
        try more.write(to: playground)
        for job in ["upload", "status"] {
            let run = try await playground.run("run", job, "--force")
            #expect(run.status == 0, "\(what): \(run.output) \(run.errors)")
        }
        let record = try await sandbox.sends()
        var line = ChaosLine("state-segments", measures: [.lost, .doubled])
        line.rounds = 1
        line.faults[what.replacing("_", with: "-")] = 1
        line.lost = max(0, more.lines.count - record.samples.count)
        line.doubled = record.samples.reduce(0) { $0 + $1.copies - 1 }
        line.tell()
        #expect(record.samples.count == more.lines.count, "\(what)")
        #expect(line.doubled == 0, "\(what)")
        return more
    }

    @Test(arguments: rounds)
    func `a month of the archive is named, and the rest is given back and sent`(round: Int)
        async throws
    {
        let (playground, sandbox) = try await playground()
        var random = ChaosPlan.current.generator("segments \(round)")
        try turnBit(
            of: "segments", where: "type LIKE '%HeartRate' AND month = 679", playground, &random)

        let audit = try await playground.run("audit")
        let rest = try await playground.archivedLines(status: 1)
        let records = try await playground.json(
            status: 1, "records", "HeartRate", "--by", "raw", "--since", "2026-08-01", "--until",
            "2026-10-01")
        let more = try await proveUpload(playground, sandbox, "segments")
        let unread = try await playground.archivedLines(status: 1)
        let repair = try await playground.run("audit", "--repair")
        _ = try await proveUpload(playground, sandbox, "segments")

        let wanted = Self.all.filter {
            $0.type != "HeartRate" || $0.minute >= KnownRecords.september
        }
        let months = [
            "archive: records of HKQuantityTypeIdentifierHeartRate in 2026-08 are damaged"
        ]
        #expect(audit.status == 1 && audit.outputLines.filter { $0.hasPrefix("arch") } == months)
        #expect(rest == wanted.lines)
        #expect(records["damaged"].number == 1 && records["rows"].elements.count == 500)
        #expect(unread.count == more.lines.count - 700)
        #expect(
            repair.errors.contains(
                "1 month with damaged records: the next reading stores again what the sources still "
                    + "have"), "\(repair)")
        // The source still has what was damaged. The damaged segment itself stays, and is named.
        let again = try await playground.archivedLines(status: 1)
        #expect(again == more.lines)
    }

    @Test(arguments: rounds)
    func `sums of days are named and repaired, and nothing else is concerned`(round: Int)
        async throws
    {
        let (playground, sandbox) = try await playground()
        var random = ChaosPlan.current.generator("segment_days \(round)")
        try turnBit(
            of: "segment_days", where: "type LIKE '%HeartRate' AND month = 680", playground,
            &random)

        let audit = try await playground.run("audit")
        let days = try await playground.json(
            "records", "HeartRate", "--since", "2026-09-01", "--until", "2026-10-01")
        let lines = try await playground.archivedLines()
        let more = try await proveUpload(playground, sandbox, "segment_days")
        let repair = try await playground.run("audit", "--repair")
        let after = try await playground.run("audit")

        #expect(audit.status == 1, "\(audit)")
        #expect(
            audit.output.contains(
                "archive: the days of HKQuantityTypeIdentifierHeartRate in 2026-09 are wrong; "
                    + "`audit --repair` adds them up anew"))
        #expect(
            days["rows"].elements.reduce(0) { $0 + ($1["count"].number ?? 0) } == 500, "\(days)")
        #expect(lines == Self.all.lines)
        #expect(repair.status == 0 && repair.errors.contains("1 month added up anew"), "\(repair)")
        #expect(after.status == 0, "\(after)")
        #expect(try await playground.archivedLines() == more.lines)
    }

    @Test(arguments: rounds)
    func `without its marks a source is compared once more, and nothing is doubled`(round: Int)
        async throws
    {
        let (playground, sandbox) = try await playground()
        var random = ChaosPlan.current.generator("segment_marks \(round)")
        try turnBit(of: "segment_marks", where: "1", playground, &random)

        let more = try await proveUpload(playground, sandbox, "segment_marks")

        let audit = try await playground.run("audit")
        #expect(audit.status == 0, "\(audit)")
        #expect(audit.output.contains("the archive is sound: \(more.lines.count) records\n"))
        #expect(try await playground.archivedLines() == more.lines)
    }

    @Test(arguments: rounds)
    func `packed samples are named by month, and the backend stores nothing twice`(round: Int)
        async throws
    {
        let (playground, sandbox) = try await playground()
        var random = ChaosPlan.current.generator("packed_samples \(round)")
        try turnBit(
            of: "packed_samples", where: "kind = 'heart_rate' AND month = 679", playground, &random)

        let audit = try await playground.run("audit")
        let lines = try await playground.archivedLines()
        // One of that month, so that the source's samples of it are compared with the packed ones.
        _ = try await proveUpload(
            at: KnownRecords.august + 5000, playground, sandbox, "packed_samples")
        let outbox = try await playground.json("outbox")

        #expect(audit.status == 1, "\(audit)")
        #expect(audit.output.contains("packed samples of heart_rate in 2026-08 are damaged"))
        #expect(lines == Self.all.lines)
        #expect(outbox["outbox"]["waiting"].number == 0)
    }

    @Test(arguments: rounds)
    func `damaged totals are named and counted anew`(round: Int) async throws {
        let (playground, sandbox) = try await playground()
        var random = ChaosPlan.current.generator("packed_totals \(round)")
        try turnBit(of: "packed_totals", where: "kind = 'heart_rate'", playground, &random)

        let audit = try await playground.run("audit")
        let outbox = try await playground.json("outbox")
        _ = try await proveUpload(playground, sandbox, "packed_totals")

        #expect(audit.status == 1, "\(audit)")
        #expect(
            audit.output.contains("the number of packed samples of heart_rate is damaged"))
        #expect(outbox["outbox"]["confirmed"].number == Self.all.lines.count)
        let repair = try await playground.run("audit", "--repair")
        #expect(repair.status == 0, "\(repair)")
        #expect(repair.errors.contains("packed samples of 1 kind counted anew"), "\(repair)")
        #expect(try await playground.json("outbox")["outbox"]["confirmed"].number == 1261)
    }

    @Test(arguments: rounds)
    func `a turned bit in the note of a removed month invents nothing and stops nothing`(round: Int)
        async throws
    {
        let (playground, sandbox) = try await playground()
        var random = ChaosPlan.current.generator("pruned_months \(round)")
        let bit = Int.random(in: 0..<10, using: &random)
        let cleanup = try await playground.run("run", "cleanup")
        let removed = try await playground.archivedLines()
        try health(playground).execute(
            "UPDATE pruned_months SET month = (month | \(1 << bit)) - (month & \(1 << bit))")

        let more = try await proveUpload(playground, sandbox, "pruned_months")

        let audit = try await playground.run("audit")
        #expect(cleanup.status == 0, "\(cleanup)")
        #expect(removed == Self.all.filter { $0.minute >= KnownRecords.september }.lines)
        #expect(audit.status == 1, "\(audit)")
        #expect(audit.output.contains("outbox-counts: removed months, "), "\(audit)")
        #expect(try await more.lines.lacks(playground.archivedLines()) == 0)
    }
}
