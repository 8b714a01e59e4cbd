import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// A process that opens the master key, and that no other process may look into.
@Suite("Processes that open the master key", .timeLimit(.minutes(2)))
struct ClosedMemoryProgramTests {
    @Test(
        .enabled(
            if: geteuid() == 0 && PlainUser.isAtHand,
            "only root sees what another user's process opens"),
        arguments: [
            ["status"], ["audit"], ["audit", "log"], ["audit", "log", "--verify"], ["outbox"],
            ["outbox", "list"], ["outbox", "show", "1"], ["outbox", "retry", "--all"],
            ["outbox", "discard", "--all"], ["key", "rotate"], ["backup"],
            ["metrics"], ["insights"], ["analyses"], ["profile"], ["summary"], ["archive", "list"],
            ["archive", "show", "1"], ["auth", "status"], ["auth", "logout"],
            ["sources"], ["import", "export.xml"], ["dry-run", "upload"], ["run", "upload"],
        ])
    func `other processes cannot read a program's memory or files`(words: [String]) async throws {
        let playground = try await Playground(sandboxOptions: nil)
        try playground.writeExport(heartRates: 1)
        PlainUser.admit(to: playground)
        PlainUser.makeFolder(playground.statePath, 0o700)
        chmod("\(playground.folder.path)/export.xml", 0o644)
        let export = "\(playground.folder.path)/export.xml"
        let made = try await PlainUser.run(playground, "import", export)
        #expect(made.status == 0, "\(made.errors)")
        let path = "\(playground.statePath)/health.lock"
        let lock = open(path, O_RDWR | O_CLOEXEC)
        defer { close(lock) }
        // Every process waits for this lock before it reads the data.
        #expect(flock(lock, LOCK_EX | LOCK_NB) == 0)

        let process = try PlainUser.start(
            playground, words.map { $0 == "export.xml" ? export : $0 })
        let found = try await ProcessFacts.ofProcess(under: process.processID, thatOpens: path)
        flock(lock, LOCK_UN)
        _ = await process.finish()

        let facts = try #require(found, "no process opened the lock")
        #expect(facts.umask == "0077")
        // The files of a process belong to root once its memory is closed (proc(5)).
        #expect(facts.owner == 0)
        #expect(facts.user != 0)
    }
}

/// What the kernel says about a running process.
private struct ProcessFacts {
    var umask: String?
    var user: uid_t
    /// The owner of the files in the process's folder.
    var owner: uid_t

    /// Returns the facts of `process`, or of one that it started, once it has opened a file; `nil` if
    /// `process` ends before.
    static func ofProcess(under process: Int32, thatOpens path: String) async throws
        -> ProcessFacts?
    {
        try await blocking {
            while ProcessTable.isAlive(process) {
                for id in [process] + ProcessTable.children(of: process)
                where ProcessTable.opens(id, path) { return read(id) }
                sched_yield()
            }
            return nil
        }
    }

    private static func read(_ id: Int32) -> ProcessFacts? {
        var facts = stat()
        guard stat("/proc/\(id)/environ", &facts) == 0,
            let text = try? TemporaryFolder.read("/proc/\(id)/status")
        else { return nil }
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        func value(_ name: String) -> String? {
            lines.first { $0.hasPrefix("\(name):\t") }?.dropFirst(name.count + 2)
                .split(separator: "\t").first.map(String.init)
        }
        return ProcessFacts(
            umask: value("Umask"), user: value("Uid").flatMap { uid_t($0) } ?? 0,
            owner: facts.st_uid)
    }
}
