import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("trace record", .timeLimit(.minutes(5)))
struct TraceProgramTests {
    private static let names: Set<String> = [
        "at", "connected", "metered", "roaming", "external_power", "battery", "low_power", "idle",
        "storage_free_bytes", "pressure_percent", "sources", "sampled",
    ]

    @Test(arguments: [SIGINT, SIGTERM])
    func `a trace writes its first line at once, and a signal ends it`(signal: Int32) async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let program = try playground.start(["trace", "record"])
        let line = try JSONValue(try #require(await program.readLine()))
        program.signal(signal)
        let end = await program.finish()

        #expect(line.keys == Self.names)
        #expect(isInstant(line["at"].text))
        #expect((line["storage_free_bytes"].number ?? 1) % (1 << 20) == 0)
        #expect(line["sources"]["storage_free_bytes"] == .string(playground.folder.path))
        #expect(end.status == 0 && end.errors == "")
        #expect(try playground.folder.contents().keys.sorted() == ["jobs.yaml"])
    }

    @Test func `--for ends a trace, and only the owner can read the file`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let path = "\(playground.folder.path)/night.ndjson"

        let first = try await playground.run("trace", "record", "--file", path, "--for", "1ms")
        let written = try TemporaryFolder.read(path)
        let again = try await playground.run("trace", "record", "--file", path, "--for", "1ms")
        let kept = try TemporaryFolder.read(path)
        let forced = try await playground.run(
            "trace", "record", "--file", path, "--for", "1ms", "--force")
        let replaced = try TemporaryFolder.read(path)

        #expect(first.status == 0 && first.output == "" && first.errors == "")
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let lines = String(decoding: written, as: UTF8.self).split(separator: "\n")
        #expect(try JSONValue(String(try #require(lines.first))).keys == Self.names)
        #expect(written.last == UInt8(ascii: "\n"))
        #expect(
            again.isRefusal(
                64, "clarity-jobs: cannot make trace `\(path)`: file exists",
                "help: --force replaces it"))
        #expect(kept == written)
        #expect(forced.status == 0 && replaced != written && replaced.count > 100)
    }

    @Test(arguments: [
        (["--for", "1"], Int32(64), "--for is a span such as `90s`, `12h` or `7d`, got `1`"),
        (["--for", "0s"], 64, "--for is a span such as `90s`, `12h` or `7d`, got `0s`"),
        (
            ["--file", "/dev/full", "--force", "--for", "5s"], 74,
            "cannot write to trace `/dev/full`: no space left on device"
        ),
    ])
    func `an impossible request is refused in one line`(
        words: [String], status: Int32, message: String
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.start(["trace", "record"] + words).finish()

        #expect(result.isRefusal(status, "clarity-jobs: \(message)"))
    }

    @Test func `a file that cannot be created is reported`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let path = "\(playground.jobFilePath)/t.ndjson"

        let result = try await playground.run("trace", "record", "--file", path, "--for", "1ms")

        #expect(
            result.isRefusal(64, "clarity-jobs: cannot make trace `\(path)`: not a directory"))
    }

    @Test func `trace without a command asks for one`() async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let result = try await playground.run("trace")

        #expect(
            result.isRefusal(
                64, "clarity-jobs: `trace` wants a command",
                "help: clarity-jobs trace --help"))
    }

    @Test(
        .enabled(if: TinyDisk.isAllowed, "needs the right to mount"))
    func `a line that does not fit on the disk leaves nothing behind`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        let disk = try TinyDisk(on: "\(playground.folder.path)/disk", kibibytes: 16)
        defer { disk.remove() }
        try disk.fill()
        let path = "\(disk.path)/t.ndjson"

        let result = try await playground.run("trace", "record", "--file", path, "--for", "5s")

        #expect(
            result.isRefusal(
                74, "clarity-jobs: cannot write to trace `\(path)`: no space left on device"))
        #expect(try TemporaryFolder.read(path) == [])
    }
}
