import ClarityScheduler
import ClarityTestSupport
import Glibc

@testable import ClarityHost

/// A test bench with a folder, a manual clock, and checks that are shell scripts.
final class CheckBench: Sendable {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    /// Declares a check that a shell script answers; `$F` is the bench's folder.
    func script(
        _ name: String, _ text: String, timeout: Duration = .seconds(30)
    ) -> CheckDeclaration {
        CheckDeclaration(
            name: name, question: .command(["sh", "-c", "F=\(folder.path)\n" + text]),
            timeout: timeout)
    }

    func runner(_ checks: CheckDeclaration..., urlProgram: [String]? = nil) -> CheckRunner {
        CheckRunner(
            checks, urlProgram: urlProgram, environment: ["PATH": "/usr/bin:/bin"], clock: clock)
    }

    /// Asks a new runner for one check and returns its answer.
    func answer(_ check: CheckDeclaration, urlProgram: [String]? = nil) async throws
        -> Conditions.Reading<Bool>?
    {
        let runner = runner(check, urlProgram: urlProgram)
        return try await blocking { runner.settle([check.name])[check.name] }
    }

    /// Returns an answer that came at the current time.
    func reading(_ value: Bool?, _ source: String) -> Conditions.Reading<Bool> {
        Conditions.Reading(value, source: source, at: clock.now)
    }

    /// Returns the text of a file in the folder, without its final line break.
    func text(_ name: String) throws -> String {
        let text = String(
            decoding: try TemporaryFolder.read("\(folder.path)/\(name)"), as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }

    func number(_ name: String) throws -> Int64 { Int64(try text(name)) ?? -1 }

    /// Makes a named pipe in the folder.
    func pipe(_ name: String) throws -> NamedPipe { try NamedPipe("\(folder.path)/\(name)") }
}

/// A named pipe, opened for reading and writing so that neither side waits for the other.
final class NamedPipe: Sendable {
    private let ends: Descriptor

    init(_ path: String) throws {
        guard mkfifo(path, 0o600) == 0 else { throw TemporaryFolder.Errno(code: errno) }
        ends = Descriptor(owning: open(path, O_RDWR | O_CLOEXEC))
    }

    /// Reads `count` line breaks, and blocks until they have been written.
    func takeLines(_ count: Int) {
        var left = count
        var byte: UInt8 = 0
        while left > 0, read(ends.number, &byte, 1) == 1 {
            if byte == UInt8(ascii: "\n") { left -= 1 }
        }
    }

    func giveLines(_ count: Int) {
        _ = write(ends.number, String(repeating: "\n", count: count), count)
    }
}
