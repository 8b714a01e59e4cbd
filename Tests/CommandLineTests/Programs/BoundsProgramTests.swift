import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// What the most frequent work may cost, counted instead of timed: a count is the same on a machine
/// that does something else beside it. `Benchmarks/BOUNDS.md` has the bounds.
@Suite("Bounds of what work costs", .timeLimit(.minutes(5)))
struct BoundsProgramTests {
    enum Work: String, CaseIterable {
        case nothingDue = "`run --due`, nothing due"
        case firstLook = "the same, everything looked at"
        case decision = "a decision"
        case attempt = "an attempt of a command"
        case importing = "an import"

        /// The command line.
        var words: [String] {
            switch self {
            case .nothingDue, .firstLook: ["run", "--due"]
            case .decision: ["run", "note", "--ask"]
            case .attempt: ["run", "note"]
            case .importing: ["import", "--quiet", "export.xml"]
            }
        }
    }

    /// A state directory in which `work` is to be done, with `count` records to import.
    private func playground(for work: Work, records count: Int) async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            jobs:
              - { id: note, kind: command, schedule: { every: 30d }, options: { command: ["true"] } }

            """
        }
        if work == .importing {
            try playground.writeExport(heartRates: count)
        } else {
            let spell = "\(playground.statePath)/quiet"
            repeat {
                let due = try await playground.run("run", "--due")
                try #require(due.status == 0, "\(due.errors)")
            } while access(spell, F_OK) != 0
            if work != .nothingDue { unlink(spell) }
        }
        return playground
    }

    /// Does the work under a command that watches it, and returns the file that the command wrote.
    private func watch(
        _ work: Work, in playground: Playground, by command: String, _ options: [String],
        program: String = "\(ChildProgram.folder)/clarity-jobs"
    ) async throws -> String {
        let words = work.words.map { $0 == "export.xml" ? "\(playground.folder.path)/\($0)" : $0 }
        // Without it, hashes differ from start to start, and with them the ways through tables.
        let end = try await playground.start(
            options + [program] + words,
            environment: [
                "SWIFT_DETERMINISTIC_HASHING": "1",
                "CLARITY_JOBS_KEY": String(repeating: "0f", count: 32),
            ], program: command
        ).finish()
        try #require(end.status == 0, "\(end.errors)")
        return String(
            decoding: try TemporaryFolder.read("\(playground.folder.path)/watched"), as: UTF8.self)
    }

    @Test(arguments: Work.allCases)
    func `work makes no more system calls, and syncs and writes no more`(work: Work) async throws {
        guard let strace = Bounds.program("strace") else { return }
        let playground = try await playground(for: work, records: 10_000)

        let trace = Trace(
            try await watch(
                work, in: playground, by: strace,
                ["-f", "-qq", "-s", "0", "-o", "\(playground.folder.path)/watched"]))

        try Bounds().check(
            work.rawValue,
            ["system calls": trace.calls, "syncs": trace.syncs, "bytes written": trace.written])
    }

    /// valgrind knows no pidfd, and without one no attempt is started.
    @Test(arguments: Work.allCases.filter { $0 != .attempt })
    func `work takes no more instructions`(work: Work) async throws {
        guard let valgrind = Bounds.program("valgrind"), let strip = Bounds.program("strip")
        else { return }
        let playground = try await playground(for: work, records: 1000)
        // Valgrind cannot read Swift's debug information.
        for name in ["clarity-jobs", "clarity-jobs-worker"] {
            let words = ["-g", "-o", "\(playground.folder.path)/\(name)"]
            let end = try await ChildProgram(
                strip, words + ["\(ChildProgram.folder)/\(name)"], environment: [:]
            ).finish()
            try #require(end.status == 0, "\(end.errors)")
        }

        var report = ""
        // The spell of the built program does not count for this one: the first time leaves another.
        for _ in 0..<(work == .nothingDue ? 2 : 1) {
            report = try await watch(
                work, in: playground, by: valgrind,
                [
                    "--tool=callgrind", "--trace-children=yes", "--callgrind-out-file=/dev/null",
                    "--log-file=\(playground.folder.path)/watched",
                ], program: "\(playground.folder.path)/clarity-jobs")
        }

        let line = try #require(report.split(separator: "\n").last { $0.contains("Collected") })
        let count = try #require(line.split(separator: " ").last.flatMap { Int($0) })
        try Bounds().check(work.rawValue, ["instructions": count])
    }
}

/// The table of bounds.
private struct Bounds {
    private struct Row {
        var work: String
        var unit: String
        var counted: Int
        var bound: Int
    }

    private let rows: [Row]

    init() throws {
        let path = "\(Playground.root)/Benchmarks/BOUNDS.md"
        let text = String(decoding: try TemporaryFolder.read(path), as: UTF8.self)
        rows = text.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmed }
            guard cells.count == 5,
                let counted = Int(cells[2].replacing(",", with: "")),
                let bound = Int(cells[3].replacing(",", with: ""))
            else { return nil }
            return Row(work: cells[0], unit: cells[1], counted: counted, bound: bound)
        }
    }

    /// Returns the path of a program of Debian; `nil`, and says so, if it is not installed.
    static func program(_ name: String) -> String? {
        let path = "/usr/bin/\(name)"
        guard access(path, X_OK) != 0 else { return path }
        print("skipped: bounds that want \(name), which is not installed")
        return nil
    }

    /// Checks that each count is within its bound, and that the bound is no looser than the table
    /// says: what needs much less has a new count.
    func check(_ work: String, _ counts: [String: Int]) throws {
        for (unit, count) in counts.sorted(by: { $0.key < $1.key }) {
            let row = try #require(
                rows.first { $0.work == work && $0.unit == unit }, "\(work): \(unit) \(count)")
            #expect(
                count <= row.bound,
                "\(work): \(count) \(unit), bound \(row.bound); the table has \(row.counted)")
            #expect(
                count >= row.counted - (row.bound - row.counted),
                "\(work): only \(count) \(unit): write that into BOUNDS.md, and a lower bound")
        }
    }
}

/// What programs asked of the kernel, as strace(1) wrote it.
private struct Trace {
    /// The system calls, without those that wait for a thread or a process: how many of these there
    /// are depends on what else the machine does.
    private(set) var calls = 0
    private(set) var syncs = 0
    private(set) var written = 0

    private static let waits: Set<String> = [
        "futex", "wait4", "waitid", "poll", "ppoll", "epoll_wait", "epoll_pwait", "restart_syscall",
        "nanosleep", "clock_nanosleep", "sched_yield", "rt_sigreturn",
    ]
    private static let writes: Set<String> = ["write", "pwrite64", "writev", "pwritev"]

    init(_ text: String) {
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            let call = line.drop { $0 == UInt8(ascii: " ") || (0x30...0x39).contains($0) }
            // Signals and ends of processes.
            guard let first = call.first, first != UInt8(ascii: "+"), first != UInt8(ascii: "-")
            else { continue }
            let isRest = first == UInt8(ascii: "<")
            let name = String(
                decoding: call.dropFirst(isRest ? 5 : 0).prefix {
                    $0 != UInt8(ascii: isRest ? " " : "(")
                }, as: UTF8.self)
            if !isRest {
                calls += Trace.waits.contains(name) ? 0 : 1
                syncs += ["fsync", "fdatasync", "sync", "syncfs"].contains(name) ? 1 : 0
            }
            guard Trace.writes.contains(name), let equals = call.lastIndex(of: UInt8(ascii: "="))
            else { continue }
            // None of a call that is not finished on this line, or that failed.
            written += Int(String(decoding: call[equals...].dropFirst(2), as: UTF8.self)) ?? 0
        }
    }
}

extension Substring {
    fileprivate var trimmed: String {
        var text = self
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
