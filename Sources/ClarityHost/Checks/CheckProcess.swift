import CLinux
import Platform
import ClarityScheduler
import Glibc

/// A child process that answers a check once.
///
/// The process leads a group of its own in the folder `/`, with `/dev/null` on its standard
/// descriptors (except an output that is read), no other descriptor open, and no signal blocked or
/// ignored.
struct CheckProcess: ~Copyable {
    private let process: StartedProcess
    /// The read end of the pipe for the standard output.
    private let output: Descriptor

    /// Starts the process.
    ///
    /// - Parameters:
    ///   - words: The program's path and its arguments; not empty.
    ///   - environment: The complete environment of the process.
    ///   - listens: Whether the standard output is a pipe, whose first bytes `reap` reads after the
    ///     process has ended. Nobody reads the pipe earlier: a program that writes more than it
    ///     holds blocks until it is killed.
    /// - Throws: `SystemError` if the process cannot be started or watched. No process is left
    ///   then.
    init(
        _ words: [String], environment: [String: String], listens: Bool
    ) throws(SystemError) {
        let pipe = try Pipe(from: CheckProcess.firstFree)
        try pipe.readEnd.stopBlocking()
        let writeEnd = pipe.writeEnd.number
        process = try StartedProcess(words, environment) { start throws(SystemError) in
            try start.enter("/")
            try start.open("/dev/null", O_RDONLY, as: 0)
            if listens {
                try start.give(writeEnd, as: 1)
            } else {
                try start.open("/dev/null", O_WRONLY, as: 1)
            }
            try start.open("/dev/null", O_WRONLY, as: 2)
            try start.closeAll(from: CheckProcess.firstFree)
        }
        output = pipe.readEnd
    }

    /// The process and the processes that it started.
    var group: ProcessGroup { process.group }

    /// The process inherits no descriptor from this number on.
    private static let firstFree: Int32 = 3

    /// Waits for the end of the process; returns `false` if `limit` comes first.
    func hasEnded(before limit: SuspendingClock.Instant? = nil) -> Bool {
        process.end.isReadable(before: limit)
    }

    /// Reaps the process and returns its exit status and output. Kills the remaining processes of
    /// the group and waits for them until `limit`. The process must have ended.
    consuming func reap(before limit: SuspendingClock.Instant) -> CheckEnd {
        let exit = group.reapLeader()
        let survivors = group.survivors()
        if survivors != [] { group.end(survivors, before: limit) }
        // Orphans become children of this process if it is process 1 or a subreaper. Otherwise
        // there are none.
        while waitpid(-group.leader, nil, WNOHANG) > 0 {}
        switch exit {
        case .status(let status): return .exited(status: status, note: note())
        case .signal(let signal): return .killed(signal: signal)
        }
    }

    private func note() -> String {
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = read(output.number, &bytes, bytes.count)
        return CheckEnd.note(of: bytes.prefix(max(count, 0)))
    }
}

/// How a question to a check ended.
enum CheckEnd: Hashable {
    /// The program ended by itself.
    ///
    /// `note` is its standard output, if that is read, as `CheckEnd.note(of:)` returns it; empty
    /// for none.
    case exited(status: Int32, note: String = "")
    case killed(signal: Int32)
    /// The check timed out.
    case late
    /// An earlier process of the check was killed and has not ended.
    case stuck
    /// The program could not be started, with the reason.
    case notStarted(String)

    /// The exit status of a program for URLs when nothing answered: EX_UNAVAILABLE of sysexits.h.
    static let nothingAnswered: Int32 = 69

    /// Returns the check's answer, or unknown with the reason.
    ///
    /// - Parameters:
    ///   - check: The check that was asked.
    ///   - took: How long the program ran.
    ///   - instant: When it ended.
    func reading(
        of check: CheckDeclaration, took: Duration, at instant: Instant
    ) -> Conditions.Reading<Bool> {
        let (value, text) = answer(to: check, took: took)
        return Conditions.Reading(value, source: "\(check.subject): \(text)", at: instant)
    }

    private func answer(to check: CheckDeclaration, took: Duration) -> (Bool?, String) {
        switch (self, check.question) {
        case (.exited(let status, _), .command):
            (status == 0, "exit \(status) in \(max(took, .zero).milliseconds) ms")
        case (.exited(0, let note), .url): (true, note.isEmpty ? "answered" : note)
        case (.exited(1, let note), .url): (false, note.isEmpty ? "another answer" : note)
        case (.exited(CheckEnd.nothingAnswered, let note), .url):
            (false, note.isEmpty ? "nothing answered" : note)
        case (.exited(let status, _), .url): (nil, "could not be asked, exit \(status)")
        case (.killed(let signal), _): (nil, "killed by signal \(signal)")
        case (.late, _): (nil, "no answer within \(check.timeout.inOneUnit)")
        case (.stuck, _): (nil, "killed at its time limit before, and not gone since")
        case (.notStarted(let reason), _): (nil, reason)
        }
    }

    /// Returns the output of a program for URLs if it is safe to show: one line of at most 60
    /// lower-case letters, digits and spaces, such as `503` or `could not connect`. Returns an
    /// empty string for any other output.
    static func note(of bytes: ArraySlice<UInt8>) -> String {
        let line = bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes
        let isPlain = line.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x20
        }
        return isPlain && line.count <= 60 ? String(decoding: line, as: UTF8.self) : ""
    }
}

extension CheckDeclaration {
    /// What is asked, for display: `command mountpoint`, or a URL without its query. A command's
    /// arguments and output are not shown.
    var subject: String {
        switch question {
        case .command(let words): "command \(printable(words.first ?? "", atMost: 100))"
        case .url(let url): printable(String(url.prefix { $0 != "?" }), atMost: 100)
        }
    }
}

extension Duration {
    /// `10 s`, or `250 ms` if it is not a whole number of seconds.
    fileprivate var inOneUnit: String {
        milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }
}
