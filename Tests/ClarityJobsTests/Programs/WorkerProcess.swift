@preconcurrency import Glibc

/// The `clarity-jobs-worker` that was built with these tests, as a process.
final class WorkerProcess {
    /// The write end of descriptor 3.
    private var orders: Int32
    private let reports: Int32
    private let output: Int32
    private let errors: Int32
    private let input: Int32
    let id: pid_t

    /// Starts the program with SIGTERM blocked until it handles it, so that a test can send it at
    /// once.
    init(_ arguments: [String], environment: [String] = []) throws {
        var pipes: [[Int32]] = []
        for _ in 0..<5 {
            var ends: [Int32] = [-1, -1]
            precondition(pipe(&ends) == 0, "no pipe: \(errno)")
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            pipes.append(ends)
        }
        // Above the numbers that the descriptors get in the child.
        let child = [pipes[0][0], pipes[1][1], pipes[2][1], pipes[3][0], pipes[4][1]].map {
            fcntl($0, F_DUPFD_CLOEXEC, 64)
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        for (descriptor, number) in zip(child, [0, 1, 2, 3, 4] as [Int32]) {
            posix_spawn_file_actions_adddup2(&actions, descriptor, number)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        var held = sigset_t()
        sigemptyset(&held)
        sigaddset(&held, SIGTERM)
        posix_spawnattr_setsigmask(&attributes, &held)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let program = WorkerProcess.program
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        var process = pid_t()
        let code = posix_spawn(&process, program, &actions, &attributes, &words, &variables)
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
        for word in words + variables { free(word) }
        for end in child + [pipes[0][0], pipes[1][1], pipes[2][1], pipes[3][0], pipes[4][1]] {
            close(end)
        }
        precondition(code == 0, "cannot start \(program): \(code)")
        id = process
        (input, output, errors) = (pipes[0][1], pipes[1][0], pipes[2][0])
        (orders, reports) = (pipes[3][1], pipes[4][0])
    }

    deinit {
        endOrders()
        for descriptor in [output, errors, reports] { close(descriptor) }
    }

    /// Writes to descriptor 3.
    func order(_ lines: [String]) { WorkerProcess.send(lines, to: orders) }

    /// Closes descriptor 3, as the death of the scheduler does.
    func endOrders() {
        if orders >= 0 { close(orders) }
        orders = -1
    }

    /// Writes to the standard input and closes it.
    func type(_ lines: [String]) {
        WorkerProcess.send(lines, to: input)
        close(input)
    }

    /// Waits for the end, and returns the exit status and everything that was written.
    func end() -> (status: Int32, output: String, errors: String, reports: [String]) {
        let text = [output, errors, reports].map { descriptor in
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while case let count = read(descriptor, &buffer, buffer.count), count > 0 {
                bytes += buffer[..<count]
            }
            return String(decoding: bytes, as: UTF8.self)
        }
        var status: Int32 = 0
        waitpid(id, &status, 0)
        // The exit status is in the second byte; a signal would be in the first.
        let code = status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
        return (code, text[0], text[1], text[2].split(separator: "\n").map(String.init))
    }

    private static func send(_ lines: [String], to descriptor: Int32) {
        let text = lines.map { "\($0)\n" }.joined()
        precondition(write(descriptor, text, text.utf8.count) == text.utf8.count)
    }

    private static var program: String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        precondition(count > 0, "no /proc/self/exe: \(errno)")
        let own = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let folder = own[..<(own.lastIndex(of: "/") ?? own.startIndex)]
        return "\(folder)/clarity-jobs-worker"
    }
}
