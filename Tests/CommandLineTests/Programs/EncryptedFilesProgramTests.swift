import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// Data that a reader of its files must not find in a state directory.
@Suite("What the files show", .timeLimit(.minutes(5)))
struct EncryptedFilesProgramTests {
    private static let rate = 123.456
    private static let distance = 8_765.4321
    private static let source = "PLANTED-WATCH-OF-ADA"

    private static func encodings(_ value: Double) -> [(String, [UInt8])] {
        let single = Float(value)
        return [
            ("text", Array("\(value)".utf8)),
            ("double, little-endian", bytes(value.bitPattern.littleEndian)),
            ("double, big-endian", bytes(value.bitPattern.bigEndian)),
            ("float, little-endian", bytes(single.bitPattern.littleEndian)),
            ("float, big-endian", bytes(single.bitPattern.bigEndian)),
            ("comma text", Array("\(value)".replacing(".", with: ",").utf8)),
            ("thousandths", bytes(Int64(value * 1000).littleEndian)),
            ("utf-16", "\(value)".utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }),
        ]
    }

    private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number) { Array($0) }
    }

    /// Everything planted, with a name for the message.
    private static var planted: [(String, [UInt8])] {
        var all: [(String, [UInt8])] = []
        for value in [rate, distance] { all += encodings(value).map { ("\(value) as \($0)", $1) } }
        for text in [
            source, "demo@example.com", "Demo-Passw0rd!", "average of the four",
            "Keep two easy days", "the change began in the middle", "confidence_score",
            "access_token", "refresh_token", "Bearer",
        ] {
            all.append((text, Array(text.utf8)))
        }
        return all
    }

    private func writeExport(_ playground: Playground) throws {
        let records = [
            ("HeartRate", "count/min", Self.rate), ("DistanceWalkingRunning", "m", Self.distance),
        ].enumerated().map { index, record in
            let date = "2026-10-01 08:0\(index):00 +0000"
            return """
                 <Record type="HKQuantityTypeIdentifier\(record.0)" sourceName="\(Self.source)" \
                unit="\(record.1)" startDate="\(date)" endDate="\(date)" value="\(record.2)"/>

                """
        }
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <HealthData locale="en_GB">
            \(records.joined())</HealthData>

            """
        try playground.folder.write("export.xml", Array(text.utf8))
    }

    private func findings(_ playground: Playground) throws -> [String] {
        try playground.folder.contents().sorted { $0.key < $1.key }
            .filter { $0.key.hasPrefix("state/") }.flatMap { name, bytes in
                Self.planted.filter { bytes.firstRange(of: $0.1) != nil }.map { "\($0.0): \(name)" }
            }
    }

    @Test func `no planted value is in any file after a full run`() async throws {
        let playground = try await Playground.quick()
        try writeExport(playground)
        try await playground.logIn()

        for job in ["upload", "status", "refresh", "insights", "cleanup"] {
            let result = try await playground.run("run", job, "-v")
            #expect(result.status == 0, "\(result.errors)")
        }
        let dryRun = try await playground.run("dry-run", "upload")
        let rotation = try await playground.run("key", "rotate")
        _ = try await playground.run("auth", "logout")

        #expect(dryRun.status == 0 && rotation.status == 0)
        #expect(try findings(playground) == [])
        let names = try playground.folder.contents().keys
        #expect(names.contains("state/health.db") && names.contains("state/history.db"))
    }

    @Test func `no planted value is in a file that a killed process leaves`() async throws {
        // The backend fails after the login: the samples wait in the outbox, and the log is not yet
        // in the file.
        let playground = try await Playground.quick()
        try writeExport(playground)
        try await playground.logIn()
        try await playground.sandbox?.addFault("POST /health-data/upload: 503 x9")

        _ = try await playground.run("run", "upload")

        #expect(try findings(playground) == [])
    }

    @Test func `a loop that crashes leaves no core dump with its key`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let key = ["CLARITY_JOBS_KEY": String(repeating: "0f", count: 32)]
        let loop = try playground.start(["loop"], environment: key)
        let began = await loop.readErrorLine()

        let limits = try TemporaryFolder.read("/proc/\(loop.processID)/limits")
        loop.signal(SIGTERM)
        _ = await loop.finish()

        #expect(began?.contains("loop") == true)
        let line = String(decoding: limits, as: UTF8.self).split(separator: "\n")
            .first { $0.hasPrefix("Max core file size") }
        #expect(line?.contains(/size +[01] +[01] +bytes/) == true, "\(line ?? "")")
    }

    @Test func `the search finds a planted value`() throws {
        for value in [Self.rate, Self.distance] {
            let haystack = [UInt8](repeating: 9, count: 50) + Self.bytes(value.bitPattern) + [9]

            let found = Self.encodings(value).filter { haystack.firstRange(of: $0.1) != nil }

            #expect(found.map(\.0) == ["double, little-endian"])
        }
    }
}
