import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// Two overlapping exports of one phone, from an independent generator of exports.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled(
        if: getenv("CLARITY_EXPORT_GENERATOR").map { access($0, R_OK) == 0 } ?? false,
        "CLARITY_EXPORT_GENERATOR names no script"))
struct OverlappingExportProgramTests {
    private static let key = ["CLARITY_JOBS_KEY": String(repeating: "3d", count: 32)]

    @Test func `an earlier and a later export give the same as the later one alone`()
        async throws
    {
        let both = try await Playground(sandboxOptions: nil)
        let later = try await Playground(sandboxOptions: nil)
        // The phone was abroad in between, so each date is written differently.
        let early = try await generate(in: both, "early.xml", ["--until", "0.9"])
        let late = try await generate(
            in: both, "late.xml", ["--utc-offset=+0900", "--export-id", "2"])
        let fresh = try await generate(in: both, "fresh.xml", [])

        for path in [early, late] { try await importing(path, in: both) }
        try await importing(late, in: later)
        let rows = try later.outboxRows()
        let others = try both.outboxRows()
        try await importing(fresh, in: both)

        #expect(rows.count > 4000)
        #expect(others.count == rows.count)
        // Compared outside the expectation, which would print the whole difference.
        let isSame = others == rows
        #expect(isSame)
        let isSameStill = try both.outboxRows() == rows
        #expect(isSameStill)
    }

    private func importing(_ path: String, in playground: Playground) async throws {
        let result = try await playground.run(
            "import", path, "--time-zone", "America/New_York", environment: Self.key)
        #expect(result.status == 0, "\(result.errors)")
    }

    private func generate(
        in playground: Playground, _ name: String, _ words: [String]
    ) async throws -> String {
        let script = try #require(getenv("CLARITY_EXPORT_GENERATOR").map { String(cString: $0) })
        let path = "\(playground.folder.path)/\(name)"
        let result = try await ChildProgram.run(
            "/usr/bin/env", ["python3", script, "--records", "20000", "--out", path] + words,
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"])
        #expect(result.status == 0, "\(result.errors)")
        return path
    }
}
