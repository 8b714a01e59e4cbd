import CLinux
import Platform
@preconcurrency import Glibc

/// The program of a target of notices, or the one that takes mails.
///
/// It finds its input on descriptor 0 and this process's error output on 1 and 2, because standard
/// output is for the results of `notify test`. No other descriptor is open, and no signal is blocked
/// or ignored. A name without a slash is searched for in `PATH`.
struct NoticeProgram {
    var words: [String]
    /// The variables of this process that the program does not get.
    var hidden: Set<String>

    enum End: Equatable {
        case exited(Int32)
        case killed(signal: Int32)
        /// The system refused to start it, with its `errno`.
        case notStarted(Int32)

        /// What happened, after the name of the program.
        var text: String {
            switch self {
            case .exited(let status): "ended with \(status)"
            case .killed(let signal): "was killed by signal \(signal)"
            case .notStarted(let code):
                "cannot be started: \(SystemError(code: code).reason)"
            }
        }
    }

    /// Starts the program, writes `input` to it and waits for its end. Returns how it ended, and
    /// whether it may have read any of the input, which it need not.
    ///
    /// It has no time limit of its own: the attempt has one, at which it is killed with its group.
    func run(_ input: [UInt8]) -> (end: End, wasTaken: Bool) {
        var ends: [Int32] = [-1, -1]
        guard clinux_keep_child_status() == 0, clinux_pipe(&ends) == 0 else {
            return (.notStarted(errno), false)
        }
        var process: pid_t = 0
        let code = start(reading: ends[0], &process)
        close(ends[0])
        let wasTaken = code == 0 && NoticeProgram.write(input, to: ends[1])
        close(ends[1])
        guard code == 0 else { return (.notStarted(code), false) }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        return (signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal: signal), wasTaken)
    }

    /// Returns whether any bytes were written.
    private static func write(_ input: [UInt8], to descriptor: Int32) -> Bool {
        var rest = input[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            // It does not want more.
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        return rest.count < input.count
    }

    /// Returns 0 or the error's number.
    private func start(reading input: Int32, _ process: inout pid_t) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
        let code = clinux_spawn_close_from(&actions, STDERR_FILENO + 1)
        guard code == 0 else { return code }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let arguments = words.map { strdup($0) } + [nil]
        defer { arguments.forEach { free($0) } }
        return posix_spawnp(
            &process, words[0], &actions, &attributes, arguments, variables())
    }

    /// Returns this process's variables, but the hidden ones, with a null at the end.
    private func variables() -> [UnsafeMutablePointer<CChar>?] {
        var variables: [UnsafeMutablePointer<CChar>?] = []
        var next = environ
        while let entry = next.pointee {
            let name = UnsafeRawBufferPointer(start: entry, count: Int(strcspn(entry, "=")))
            if !hidden.contains(String(decoding: name, as: UTF8.self)) { variables.append(entry) }
            next += 1
        }
        return variables + [nil]
    }
}
