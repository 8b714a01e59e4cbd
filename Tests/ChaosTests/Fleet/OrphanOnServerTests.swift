import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// Commands of a loop on a database, on which another loop takes over sooner than the command could
/// know by itself.
@Suite(
    "A command and its loop on a database", .serialized, .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.need)"))
struct OrphanOnServerTests {
    /// A command that writes for as long as it lives, whatever it is asked.
    private static let script =
        "trap \"\" TERM; echo \"b $$\" >>FOLDER/notes; "
        + "while :; do echo \"a $$\" >>FOLDER/notes; sleep 0.01; done"

    @Test func `a keeper that does not end its command is noticed`() async throws {
        let scene = try await StartingLoops(
            2, command: Self.script, every: "1d",
            keeper: "head -c 1 <&4 >/dev/null; shift 3; exec \"$@\" 3<&- 4<&- 5<&- 6<&-")
        // After the loops, which leave their commands behind here.
        defer { (try? scene.begins())?.compactMap { pid_t($0) }.forEach { kill($0, SIGKILL) } }
        defer { scene.end() }
        try await scene.wait { try scene.begins().count == 1 }

        for loop in scene.running where !ProcessTable.children(of: loop.processID).isEmpty {
            loop.signal(SIGKILL)
        }
        try await scene.wait { try scene.begins().count == 2 }
        try await scene.wait { try scene.notesAfterBegin(number: 1) != [] }
    }

    @Test(arguments: [SIGKILL, SIGSTOP])
    func `a command has ended before another loop starts it again`(signal: Int32) async throws {
        let scene = try await StartingLoops(1, command: Self.script, every: "1d")
        defer { scene.end() }
        // After more interruptions in a row the run waits for its backoff.
        for _ in 0..<ChaosPlan.current.size(slice: 2, whole: 3) {
            let begins = try scene.begins()
            try await scene.wait { try scene.begins().count == max(begins.count, 1) }
            let loop = try #require(scene.running.last)
            try scene.start()

            loop.signal(signal)
            try await scene.wait { try scene.begins().count == max(begins.count, 1) + 1 }
            // Of the first command nothing may come any more.
            let first = try scene.begins().count - 1
            try await Task.sleep(for: .milliseconds(200))
            #expect(try scene.notesAfterBegin(number: first) == [])
            loop.signal(SIGKILL)
            _ = await loop.finish()
            scene.forget(loop)
        }
    }
}
