import CLinux
import Platform
@preconcurrency import Glibc
import Synchronization

/// The program to which signals are passed on; 0 without one. Global, because a signal handler can
/// reach nothing else.
private let receiver = Atomic<Int32>(0)

/// Starts programs that use the terminal of this one.
enum ForegroundProgram {
    /// Runs a program to its end and returns its exit status; 128 and the number of a signal that
    /// ended it.
    ///
    /// Ctrl-C reaches both programs: this one waits for the end of the other.
    ///
    /// - Parameters:
    ///   - words: the program, found in `PATH` unless it has a slash, and its arguments.
    ///   - outputs: the descriptors that the program gets in place of this one's, by number.
    ///   - environment: the program's environment; without it, this one's.
    ///   - forwards: signals that end the program in place of this one, which then cleans up.
    /// - Throws: `CommandFailure` if the program cannot be started.
    static func run(
        _ words: [String], input: [UInt8]? = nil, outputs: [Int32: Int32] = [:],
        environment: [String: String]? = nil, forwards: [Int32] = []
    ) throws(CommandFailure) -> Int32 {
        var ends: [Int32] = [-1, -1]
        if input != nil, pipe(&ends) != 0 { throw failure(words, errno) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if input != nil {
            posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO)
            posix_spawn_file_actions_addclose(&actions, ends[0])
            posix_spawn_file_actions_addclose(&actions, ends[1])
        }
        // In this order, no number is taken from a descriptor that is still needed.
        for (number, descriptor) in outputs.sorted(by: { $0.key < $1.key }) {
            posix_spawn_file_actions_adddup2(&actions, descriptor, number)
        }
        var vector: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { vector.forEach { free($0) } }
        var process: pid_t = 0
        let interrupt = signal(SIGINT, SIG_IGN)
        let quit = signal(SIGQUIT, SIG_IGN)
        defer {
            signal(SIGINT, interrupt)
            signal(SIGQUIT, quit)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        var variables: [UnsafeMutablePointer<CChar>?] =
            (environment ?? [:]).map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { variables.forEach { free($0) } }
        let code = variables.withUnsafeMutableBufferPointer { own in
            posix_spawnp(
                &process, words[0], &actions, &attributes, &vector,
                environment == nil ? environ : own.baseAddress)
        }
        if let input {
            close(ends[0])
            // A password is shorter than a pipe holds (pipe(7)): the write does not wait.
            if code == 0 { _ = write(ends[1], input, input.count) }
            close(ends[1])
        }
        guard code == 0 else { throw failure(words, code) }
        receiver.store(process, ordering: .relaxed)
        let handlers = forwards.map { number in
            (number, signal(number) { _ = kill(receiver.load(ordering: .relaxed), $0) })
        }
        defer { for (number, handler) in handlers { signal(number, handler) } }
        // Whoever started this program may have blocked them.
        var mask = sigset_t()
        sigemptyset(&mask)
        for number in forwards { sigaddset(&mask, number) }
        pthread_sigmask(SIG_UNBLOCK, &mask, nil)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F)
    }

    /// Runs a program to its end, as `run` does, and returns what it wrote.
    static func captured(
        _ words: [String], input: [UInt8]? = nil, outputs: [Int32: Int32] = [:],
        environment: [String: String]? = nil
    ) throws(CommandFailure) -> (status: Int32, output: String, errors: String) {
        // Files without a name, which hold any amount while nobody reads.
        let files = [clinux_memory_file(), clinux_memory_file()]
        defer { files.forEach { if $0 >= 0 { close($0) } } }
        guard files.allSatisfy({ $0 >= 0 }) else { throw failure(words, errno) }
        let status = try run(
            words, input: input,
            outputs: outputs.merging([STDOUT_FILENO: files[0], STDERR_FILENO: files[1]]) { $1 },
            environment: environment)
        return (status, text(files[0]), text(files[1]))
    }

    private static func text(_ file: Int32) -> String {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = pread(file, &buffer, buffer.count, text.count), count > 0 {
            text += buffer[..<count]
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func failure(_ words: [String], _ code: Int32) -> CommandFailure {
        let problem = SystemError(code: code).reason
        return CommandFailure(.configuration, "cannot start `\(words[0])`: \(problem)")
    }
}
