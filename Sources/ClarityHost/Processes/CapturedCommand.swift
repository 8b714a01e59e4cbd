import CLinux
import ClarityScheduler
import Platform
import Glibc

/// Runs a short program of this package for its output.
public enum CapturedCommand {
    /// How a program ended, and what it wrote.
    public struct Result: Sendable {
        /// The exit status, or 128 plus the number of the signal that ended it.
        public var status: Int32
        public var output: [UInt8]
        /// The beginning of its standard error.
        public var errors: [UInt8]
    }

    /// Why there is no result. The program was killed.
    public enum Fault: Error, Hashable, Sendable {
        case timedOut
        /// The output is longer than allowed.
        case tooLarge
        /// The system refused, in words such as "cannot make a pipe: too many open files".
        case refused(String)
    }

    /// The most bytes of standard error that are kept.
    private static let mostErrors = 16 << 10

    /// Runs a program to its end. Its input is `/dev/null`, and it leads a group of its own, which
    /// is killed when it takes too long or writes too much.
    ///
    /// - Parameters:
    ///   - words: the program's path, not searched for, and its arguments; not empty.
    ///   - environment: the program's whole environment.
    ///   - limit: how long it may take.
    ///   - most: the most bytes of its output.
    public static func run(
        _ words: [String], environment: [String: String], within limit: Duration, atMost most: Int
    ) throws(Fault) -> Result {
        let end = SuspendingClock.now + limit
        let process: RunningCommand
        do throws(SystemError) {
            process = try RunningCommand(words, environment)
        } catch {
            throw .refused("\(error)")
        }
        return try process.finish(before: end, atMost: most, errors: mostErrors)
    }
}

/// A program whose output arrives in two pipes.
private struct RunningCommand: ~Copyable {
    let process: StartedProcess
    let output: Descriptor
    let errors: Descriptor

    init(_ words: [String], _ environment: [String: String]) throws(SystemError) {
        let output = try Pipe(from: ProcessStart.firstFree)
        let errors = try Pipe(from: ProcessStart.firstFree)
        try output.readEnd.stopBlocking()
        try errors.readEnd.stopBlocking()
        let (writeOutput, writeErrors) = (output.writeEnd.number, errors.writeEnd.number)
        process = try StartedProcess(words, environment) { start throws(SystemError) in
            try start.open("/dev/null", O_RDONLY, as: 0)
            try start.give(writeOutput, as: 1)
            try start.give(writeErrors, as: 2)
            try start.closeAll(from: 3)
        }
        // The writing ends close here, so that those of the program are the last ones.
        self.output = output.readEnd
        self.errors = errors.readEnd
    }

    consuming func finish(
        before limit: SuspendingClock.Instant, atMost most: Int, errors mostErrors: Int
    ) throws(CapturedCommand.Fault) -> CapturedCommand.Result {
        var result = CapturedCommand.Result(status: 0, output: [], errors: [])
        var fault: CapturedCommand.Fault?
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        var watched = [process.end.number, output.number, errors.number]
        // The program's end counts, not that of its pipes, which a process that it left may hold.
        while fault == nil, watched.contains(process.end.number) {
            var polls = watched.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            let left = limit - SuspendingClock.now
            guard left > .zero else {
                fault = .timedOut
                break
            }
            let count = poll(&polls, nfds_t(polls.count), Int32(clamping: left.milliseconds + 1))
            if count < 0, errno != EINTR {
                fault = .refused("\(SystemError("wait for a process"))")
            }
            guard count > 0 else { continue }
            for ready in polls where ready.revents != 0 {
                if ready.fd == process.end.number {
                    watched.removeAll { $0 == ready.fd }
                } else if !take(ready.fd, &chunk, most, mostErrors, &result, &fault) {
                    watched.removeAll { $0 == ready.fd }
                }
            }
        }
        // What is left in the pipes after the program's end.
        for number in [output.number, errors.number] where fault == nil {
            while fault == nil, take(number, &chunk, most, mostErrors, &result, &fault) {}
        }
        if fault != nil { process.group.killAll() }
        let exit = process.group.reapLeader()
        if let fault { throw fault }
        switch exit {
        case .status(let status): result.status = status
        case .signal(let signal): result.status = 128 + signal
        }
        return result
    }

    /// Reads what a pipe has; returns `false` when it is at its end or empty.
    private func take(
        _ number: Int32, _ chunk: inout [UInt8], _ most: Int, _ mostErrors: Int,
        _ result: inout CapturedCommand.Result, _ fault: inout CapturedCommand.Fault?
    ) -> Bool {
        let count = read(number, &chunk, chunk.count)
        guard count > 0 else { return count < 0 && errno == EINTR }
        if number == output.number {
            guard result.output.count + count <= most else {
                fault = .tooLarge
                return false
            }
            result.output += chunk[..<count]
        } else {
            result.errors += chunk[..<count].prefix(mostErrors - result.errors.count)
        }
        return true
    }
}

/// A short process of this package that does what a scheduler must not do itself.
public enum CompanionProcess {
    /// Runs a program and waits for its end. It shares this process's standard error, and has
    /// `/dev/null` as its input and output.
    ///
    /// - Parameters:
    ///   - words: the program's path and its arguments; not empty.
    ///   - limit: how long it may take before it is killed.
    /// - Returns: `nil` if it has ended, and has itself reported what went wrong; otherwise why it
    ///   could not, as a fragment.
    public static func run(
        _ words: [String], environment: [String: String], within limit: Duration
    ) -> String? {
        do throws(SystemError) {
            let process = try StartedProcess(words, environment) { start throws(SystemError) in
                try start.open("/dev/null", O_RDONLY, as: 0)
                try start.open("/dev/null", O_WRONLY, as: 1)
                try start.closeAll(from: 3)
            }
            let group = process.group
            defer { _ = group.reapLeader() }
            if process.end.isReadable(before: SuspendingClock.now + limit) { return nil }
            group.killAll()
            return "killed after \(limit.text)"
        } catch {
            return "\(error)"
        }
    }
}
