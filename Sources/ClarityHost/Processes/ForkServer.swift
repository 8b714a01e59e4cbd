import CLinux
import ClarityScheduler
import Glibc
import Platform
import Synchronization

/// Starts the attempts of a loop that starts many as forks of one process that has loaded the worker's
/// program.
///
/// Loading the program and its libraries often takes more processor time than the attempt. The server
/// has a single thread, keeps no secret, makes no connection, and is started when attempts follow
/// each other closely. Each fork is a child of this process like one that it starts itself, so that a
/// crash or a hang ends one attempt.
public final class ForkServer: Sendable {
    /// When there is a server.
    struct Policy: Sendable {
        /// The number of starts within `idle` from which on a server takes them over.
        var busy = 4
        /// How long a server waits for the next start.
        var idle: Duration = .seconds(60)
        /// How long a start may take.
        var patience: Duration = .seconds(10)
        /// After which time another server takes over, which loads libraries, and reads OpenSSL's
        /// configuration, as they are by then: an upgrade may have mended one.
        var longest: Duration = .seconds(900)
    }

    /// The variables that are read before a program begins, or when OpenSSL starts. A server gets no
    /// others: its forks may be of other accounts. So a variable that only OpenSSL's configuration
    /// names (`$ENV::NAME`) is not there for it.
    private static let ofLoader: Set<String> = [
        "LD_LIBRARY_PATH", "LD_BIND_NOW", "GLIBC_TUNABLES", "MALLOC_ARENA_MAX",
        "MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_PERTURB_", "MALLOC_TOP_PAD_",
        "MALLOC_TRIM_THRESHOLD_", "GNUTLS_SYSTEM_PRIORITY_FILE", "GNUTLS_FORCE_FIPS_MODE",
        "OPENSSL_CONF", "OPENSSL_CONF_INCLUDE", "OPENSSL_MODULES", "OPENSSL_ENGINES",
        "SWIFT_BACKTRACE", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "ASAN_SYMBOLIZER_PATH",
    ]
    /// A library that is loaded before the program may count on a program for each attempt.
    private static let preloading = ["LD_PRELOAD", "LD_AUDIT"]

    private let words: [String]
    private let policy: Policy
    private let state = Mutex(State())

    private struct State {
        /// The latest starts, at most as many as make a server.
        var starts: [SuspendingClock.Instant] = []
        var server: Server?
        /// Whether a server has failed in a way in which the next would fail too. None is tried again.
        var isImpossible = false

        mutating func endServer() {
            server?.end()
            server = nil
        }
    }

    private struct Server {
        let process: pid_t
        let socket: Int32
        let start = SuspendingClock.now
        var hasForked = false

        /// Ends the process and reaps it. Its forks go on, but for one that was not answered for.
        func end() {
            kill(process, SIGKILL)
            while waitpid(process, nil, 0) < 0, errno == EINTR {}
            let unknown = clinux_fork_answer(socket)
            close(socket)
            guard unknown > 0 else { return }
            kill(unknown, SIGKILL)
            while waitpid(unknown, nil, 0) < 0, errno == EINTR {}
        }
    }

    /// - Parameter words: the path of the worker's program, not searched for, and the arguments with
    ///   which it becomes a server.
    public convenience init(_ words: [String]) { self.init(words, Policy()) }

    init(_ words: [String], _ policy: Policy) { (self.words, self.policy) = (words, policy) }

    deinit { state.withLock { $0.endServer() } }

    /// The process of the server, if there is one.
    var process: pid_t? { state.withLock { $0.server?.process } }

    /// Starts a process with these descriptors from 3 on and no other but the first three, as leader of
    /// a group of its own.
    ///
    /// - Returns: its id; `nil` if the caller has to start one itself.
    /// - Throws: `SystemError` if nobody knew whether it was started. It has ended then, without an
    ///   order.
    func start(
        _ environment: [String: String], _ descriptors: [Int32]
    ) throws(SystemError) -> pid_t? {
        let variables = environment.map { "\($0.key)=\($0.value)\0" }.sorted().joined()
        guard !variables.isEmpty, variables.utf8.count <= Int(CLINUX_FORK_ROOM),
            environment.count <= Int(CLINUX_FORK_VARIABLES),
            !ForkServer.preloading.contains(where: { environment[$0] != nil })
        else { return nil }
        return try state.withLock { state throws(SystemError) in
            guard let server = server(&state, environment) else { return nil }
            let bytes = Array(variables.utf8)
            let process = clinux_fork_ask(
                server.socket, bytes, UInt(bytes.count), descriptors, Int32(descriptors.count))
            guard process <= 0 else {
                state.server?.hasForked = true
                return process
            }
            let error = SystemError("start an attempt")
            state.isImpossible = process < 0 || !server.hasForked
            state.endServer()
            if process < 0 { throw error }
            return nil
        }
    }

    /// Returns the server, which is started once it is worth it.
    private func server(_ state: inout State, _ environment: [String: String]) -> Server? {
        let now = SuspendingClock.now
        state.starts = state.starts.suffix(policy.busy - 1) + [now]
        guard !state.isImpossible else { return nil }
        if let server = state.server {
            if now - server.start < policy.longest { return server }
            state.endServer()
        }
        guard state.starts.count == policy.busy, now - state.starts[0] < policy.idle else {
            return nil
        }
        do throws(SystemError) {
            let server = try launch(environment)
            state.server = server
            let code = DetachedThread.start { [weak self, idle = policy.idle] in
                let end = Descriptor(owning: clinux_pidfd_open(server.process))
                var next: SuspendingClock.Instant? = .now + idle
                while let limit = next {
                    // First: whoever looks keeps the server meanwhile.
                    let hasEnded = end.isReadable(before: limit)
                    next = self?.look(at: server, hasEnded: hasEnded)
                }
            }
            guard code == 0 else { throw SystemError("start a thread", code: code) }
        } catch {
            state.endServer()
            state.isImpossible = true
        }
        return state.server
    }

    /// Ends a server that has ended or has been idle for long enough.
    ///
    /// - Returns: when to look again; `nil` once it has ended.
    private func look(at server: Server, hasEnded: Bool) -> SuspendingClock.Instant? {
        state.withLock { state in
            guard state.server?.process == server.process else { return nil }
            let limit = (state.starts.last ?? .now) + policy.idle
            if !hasEnded, limit > .now { return limit }
            state.endServer()
            return nil
        }
    }

    private func launch(_ environment: [String: String]) throws(SystemError) -> Server {
        var ends: [Int32] = [-1, -1]
        guard clinux_fork_sockets(&ends, Int32(clamping: policy.patience.milliseconds)) == 0 else {
            throw SystemError("make a socket")
        }
        let lowOwn = Descriptor(owning: ends[0])
        let lowIts = Descriptor(owning: ends[1])
        let own = try lowOwn.raised(to: ProcessStart.firstFree)
        let its = try lowIts.raised(to: ProcessStart.firstFree)
        var start = try ProcessStart()
        try start.openStandard()
        try start.give(its.number, as: 3)
        try start.closeAll(from: 4)
        let process = try start.run(
            words, environment.filter { ForkServer.ofLoader.contains($0.key) })
        // Closed here, so that the end of the server is the end of the socket.
        _ = consume its
        let server = Server(process: process, socket: own.giveUp())
        guard clinux_fork_answer(server.socket) == 0 else {
            let error = SystemError("start `\(words[0])`")
            server.end()
            throw error
        }
        return server
    }
}
