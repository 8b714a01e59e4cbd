import CLinux
import Dispatch
import Glibc
import Synchronization

/// The exit status and the output of a program that a test ran.
public struct ProgramResult: Sendable {
    /// The exit status, or 128 plus the signal that ended the program.
    public var status: Int32
    public var output: String
    public var errors: String

    /// The lines of standard error.
    public var errorLines: [String] { errors.split(separator: "\n").map(String.init) }
    /// The lines of standard output.
    public var outputLines: [String] { output.split(separator: "\n").map(String.init) }
}

/// A running child process with pipes on its three standard descriptors.
///
/// `@unchecked`: only one task at a time uses it, and a cancellation reads nothing that changes but
/// `isReaped`.
public final class ChildProgram: @unchecked Sendable {
    public let processID: Int32
    private var input: Int32
    private let output: Int32
    private let errors: Int32
    private let isReaped = Atomic(false)

    /// The folder of the programs that were built together with these tests.
    public static var folder: String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let path = String(
            decoding: buffer[..<max(count, 0)].map(UInt8.init(bitPattern:)), as: UTF8.self)
        return String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
    }

    /// The options of the sanitizers (`scripts/sanitize`), if there are any.
    private static let sanitizers: [String: String] = {
        let names = ["ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "ASAN_SYMBOLIZER_PATH"]
        let pairs = names.compactMap { name in
            getenv(name).map { (name, String(cString: $0)) }
        }
        return Dictionary(uniqueKeysWithValues: pairs)
    }()

    /// Starts a program with exactly this environment, plus the options of a sanitizer that watches
    /// these tests.
    ///
    /// - Parameter blocked: the signals that are blocked when the program starts. Without it they
    ///   are those of the calling thread, and a thread of a test blocks nearly all.
    public init(
        _ path: String, _ arguments: [String], environment: [String: String],
        blocked: [Int32]? = nil
    ) throws {
        var pipes: [Int32] = [-1, -1, -1, -1, -1, -1]
        for pair in 0..<3 {
            guard clinux_pipe(&pipes[pair * 2]) == 0 else {
                throw TemporaryFolder.Errno(code: errno)
            }
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, pipes[0], 0)
        posix_spawn_file_actions_adddup2(&actions, pipes[3], 1)
        posix_spawn_file_actions_adddup2(&actions, pipes[5], 2)
        let words = ([path] + arguments).map { strdup($0) } + [nil]
        let surroundings = environment.merging(ChildProgram.sanitizers) { own, _ in own }
        let variables = surroundings.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (words + variables).forEach { free($0) } }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        if let blocked {
            var mask = sigset_t()
            sigemptyset(&mask)
            for signal in blocked { sigaddset(&mask, signal) }
            posix_spawnattr_setsigmask(&attributes, &mask)
            posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        }
        var child: pid_t = 0
        let code = posix_spawn(&child, path, &actions, &attributes, words, variables)
        [pipes[0], pipes[3], pipes[5]].forEach { close($0) }
        guard code == 0 else { throw TemporaryFolder.Errno(code: code) }
        processID = child
        input = pipes[1]
        output = pipes[2]
        errors = pipes[4]
    }

    deinit {
        if !isReaped.load(ordering: .acquiring) {
            kill(processID, SIGKILL)
            var status: Int32 = 0
            waitpid(processID, &status, 0)
        }
        [input, output, errors].filter { $0 >= 0 }.forEach { close($0) }
    }

    /// Runs a program to its end.
    public static func run(
        _ path: String, _ arguments: [String], environment: [String: String] = [:],
        input: String = ""
    ) async throws -> ProgramResult {
        let child = try ChildProgram(path, arguments, environment: environment)
        return await child.finish(input: input)
    }

    /// Writes the input, closes it, and reads both outputs until the program has ended.
    public func finish(input text: String = "") async -> ProgramResult {
        await killingIfCancelled { continuation in
            let queue = DispatchQueue(label: "child", attributes: .concurrent)
            queue.async { @Sendable in
                self.give(Array(text.utf8))
                close(self.input)
                self.input = -1
                let result = self.collect()
                continuation.resume(returning: result)
            }
        }
    }

    /// Writes one line to standard input.
    public func writeLine(_ line: String) { give(Array("\(line)\n".utf8)) }

    /// Reads one line of standard output. Returns `nil` at its end, and for an empty line.
    public func readLine() async -> String? { await line(from: output) }

    /// Reads one line of standard error. Returns `nil` at its end, and for an empty line.
    public func readErrorLine() async -> String? { await line(from: errors) }

    private func line(from descriptor: Int32) async -> String? {
        await killingIfCancelled { continuation in
            DispatchQueue(label: "child").async { @Sendable in
                var line: [UInt8] = []
                var byte: UInt8 = 0
                while read(descriptor, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
                    line.append(byte)
                }
                let text = String(decoding: line, as: UTF8.self)
                continuation.resume(returning: text.isEmpty ? nil : text)
            }
        }
    }

    /// Waits for `body`, and kills the program when the task is cancelled. Without it, a test that
    /// waits for a line that never comes would not end at its time limit.
    private func killingIfCancelled<Value: Sendable>(
        _ body: (CheckedContinuation<Value, Never>) -> Void
    ) async -> Value {
        await withTaskCancellationHandler {
            await withCheckedContinuation(body)
        } onCancel: {
            signal(SIGKILL)
        }
    }

    /// Sends a signal to the program.
    public func signal(_ number: Int32) {
        if !isReaped.load(ordering: .acquiring) { kill(processID, number) }
    }

    /// Writes the input. If the program ends without reading it, SIGPIPE must not end the tests.
    private func give(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        var pipe = sigset_t()
        var before = sigset_t()
        sigemptyset(&pipe)
        sigaddset(&pipe, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &pipe, &before)
        if write(input, bytes, bytes.count) < 0, errno == EPIPE {
            var soon = timespec()
            sigtimedwait(&pipe, nil, &soon)
        }
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }

    private func collect() -> ProgramResult {
        var collected: [Int32: [UInt8]] = [output: [], errors: []]
        var open = [output, errors]
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while !open.isEmpty {
            var polls = open.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&polls, nfds_t(polls.count), -1) > 0 else { continue }
            for poll in polls where poll.revents != 0 {
                let count = read(poll.fd, &chunk, chunk.count)
                if count > 0 {
                    collected[poll.fd, default: []] += chunk[..<count]
                } else {
                    open.removeAll { $0 == poll.fd }
                }
            }
        }
        var status: Int32 = 0
        while waitpid(processID, &status, 0) < 0, errno == EINTR {}
        isReaped.store(true, ordering: .releasing)
        let signal = status & 0x7F
        return ProgramResult(
            status: signal == 0 ? (status >> 8) & 0xFF : 128 + signal,
            output: String(decoding: collected[output] ?? [], as: UTF8.self),
            errors: String(decoding: collected[errors] ?? [], as: UTF8.self))
    }
}
