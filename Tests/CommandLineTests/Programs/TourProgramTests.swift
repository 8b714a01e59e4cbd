import ClarityHost
import HealthStore
import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite("The tour", .timeLimit(.minutes(5)))
struct TourProgramTests {
    /// A row of the table in docs/jobs.md: a kind, its job in the example, and what its run prints.
    struct Stop: Sendable {
        var kind: String
        var job: String
        var says: String
    }

    /// Returns the rows below the heading of the tour: `| kind | \`run job\` | \`what it says\` |
    /// prose |`.
    static func stops() throws -> [Stop] {
        let text = try TemporaryFolder.read("\(Playground.root)/docs/jobs.md")
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        let from = try #require(lines.firstIndex(of: "### A tour of every kind"))
        return lines[(from + 1)...].prefix { !$0.hasPrefix("#") }
            .filter { $0.hasPrefix("| `") }
            .map { line in
                let cells = line.split(separator: "|").map { $0.filter { $0 != "`" } }
                    .map { String($0.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
                return Stop(kind: cells[0], job: cells[1], says: cells[2])
            }
    }

    /// Returns a playground with the example as its job file, and the example's export beside it.
    private func playground() async throws -> Playground {
        let example = String(
            decoding: try TemporaryFolder.read("\(Playground.root)/Examples/every-kind.yaml"),
            as: UTF8.self)
        let playground = try await Playground(
            sandboxOptions: ["--fhir", "hapi"],
            jobFile: { url, _ in
                example.replacing("http://127.0.0.1:8787/api/v1", with: url)
                    .replacing("http://127.0.0.1:8787", with: url.replacing("/api/v1", with: ""))
            })
        try playground.folder.write(
            "export.zip", try TemporaryFolder.read("\(Playground.root)/Examples/export.zip"))
        try await playground.logIn()
        return playground
    }

    @Test func `every kind has a row in the tour and a job in the example`() throws {
        let kinds = Set(clarityCatalogue.kinds.map(\.kind.rawValue)).union(["command"])

        #expect(Set(try TourProgramTests.stops().map(\.kind)) == kinds)
    }

    @Test func `each job prints what the tour says, and its dry run changes nothing`()
        async throws
    {
        let playground = try await playground()

        for stop in try TourProgramTests.stops() {
            let before = try playground.folder.contents()
            let dryRun = try await playground.run("dry-run", stop.job)
            #expect(dryRun.status == 0, "\(stop.job): \(dryRun.errors)")
            #expect(
                dryRun.output.contains("nothing was changed"),
                "\(stop.job): \(dryRun.output)")
            #expect(try playground.folder.contents() == before, "\(stop.job)")

            let run = try await playground.run("run", "--force", stop.job)
            #expect(run.status == 0, "\(stop.job): \(run.errors)")
            let line = run.outputLines.first { $0.hasPrefix("\(stop.job): succeeded") }
            #expect(line?.contains(stop.says) == true, "\(stop.job): \(run.output)")
        }

        let audit = try await playground.run("audit")
        #expect(audit.status == 0, "\(audit.output)")
        #expect(audit.output.contains("the outbox is sound"))
    }
}
