import CLinux
import ClarityScheduler
import Platform
import Backend
import BackendContract
import ClarityJobs
import HealthStore
@preconcurrency import Glibc
import Synchronization

/// Runs one attempt for the scheduler. The order comes on descriptor 3, and the reports go to
/// descriptor 4. Descriptor 5 is the lock of the scheduler's lease, which must not outlive this
/// process in a child.
enum AttemptMode {
    private static let orderNumber = OrderInput.descriptor
    private static let reportNumber: Int32 = 4
    private static let lockNumber: Int32 = 5

    static func run() async -> ExitStatus {
        guard let order = OrderInput.read(isOfScheduler: true) else { return .faultyInput }
        let environment: [String: String]
        do throws(Failure) {
            environment = try keyAndSecrets(for: order)
        } catch {
            // The attempt itself reports what does not fit.
            environment = keyEnvironment()
        }
        guard DetachedThread.start({ endWithScheduler() }) == 0,
            let reports = ReportWriter(descriptor: reportNumber)
        else {
            complain("cannot start: \(SystemError().text)")
            return .internalFault
        }
        let attempt = Task {
            await AttemptRunner.run(
                order, environment: environment, clock: SystemClock(),
                transport: {
                    try CurlTransport(version: programVersion, trust: order.trust())
                },
                report: { reports.write($0) }, isEnding: { isWarned })
        }
        guard DetachedThread.start({ cancel(attempt, after: order.warning / 2) }) == 0 else {
            complain("cannot start: \(SystemError().text)")
            return .internalFault
        }
        reports.write(.outcome(await attempt.value))
        return .done
    }

    /// Cancels what is still under way when half of the time from the warning to the end is over.
    /// Otherwise a request without an answer would be waited for until the end, and the checkpoint
    /// would be lost.
    private static func cancel(_ attempt: Task<Outcome, Never>, after span: Duration) {
        var byte: UInt8 = 0
        let descriptor = wake.readEnd.load(ordering: .relaxed)
        while read(descriptor, &byte, 1) < 0, errno == EINTR {}
        let clock = SystemClock()
        let end = clock.elapsed + span
        while clock.elapsed < end {
            poll(nil, 0, Int32(clamping: (end - clock.elapsed).milliseconds + 1))
        }
        attempt.cancel()
    }

    /// Makes this process the fork server on descriptor 3 (`ForkServer` in ClarityHost). Returns in
    /// each fork, which goes on like a process that was started for its attempt.
    static func waitForFork() {
        // Made here once, and not by each fork.
        withExtendedLifetime(clarityCatalogue) {}
        do throws(TransportError) {
            try CurlTransport.prepareForForks()
        } catch {
            complain("cannot fork: libcurl: \(error)")
            exit(ExitStatus.internalFault.rawValue)
        }
        // Variables pass through its memory.
        guard clinux_keep_memory_private() == 0, clinux_fork_serve(orderNumber) == 0 else {
            complain("cannot fork: \(SystemError().text)")
            exit(ExitStatus.internalFault.rawValue)
        }
        // Make `ps` show the mode.
        if let mode = CommandLine.unsafeArgv[1] {
            let room = strlen(mode)
            memset(mode, 0, room)
            memcpy(mode, "attempt", min(room, 7))
        }
    }

    /// Takes over the signals and descriptors, before the attempt starts.
    static func prepare() {
        // Created first: the signal handler must not be the one that creates the flag.
        _ = isWarned
        var ends: [Int32] = [-1, -1]
        if pipe(&ends) != 0 { complain("cannot be warned: \(SystemError().text)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        wake.readEnd.store(ends[0], ordering: .relaxed)
        wake.writeEnd.store(ends[1], ordering: .relaxed)
        signal(SIGTERM) { _ in
            var byte: UInt8 = 1
            warning.store(true, ordering: .relaxed)
            // A full pipe has already woken the thread.
            _ = write(wake.writeEnd.load(ordering: .relaxed), &byte, 1)
        }
        // The process that started this one may have blocked the signal.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        // If the scheduler has ended, the write returns an error instead.
        signal(SIGPIPE, SIG_IGN)
        // A limit on the size of files must not kill it: the write fails, as on a full disk.
        signal(SIGXFSZ, SIG_IGN)
        for descriptor in [orderNumber, reportNumber, lockNumber] {
            // A descriptor that is not open needs no flag.
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
    }

    /// Ends this process at once when the scheduler has ended: nobody knows of the attempt any
    /// more, and another scheduler may start it again. Work that was not settled comes again
    /// unchanged.
    private static func endWithScheduler() {
        var byte: UInt8 = 0
        while true {
            let count = read(orderNumber, &byte, 1)
            if count == 0 || (count < 0 && errno != EINTR) {
                _exit(ExitStatus.internalFault.rawValue)
            }
        }
    }

    /// Whether the scheduler has sent its warning.
    private static var isWarned: Bool { warning.load(ordering: .relaxed) }
}

/// Set by SIGTERM. Global, because a signal handler can reach nothing else.
private let warning = Atomic(false)

/// The two ends of a pipe through which the handler wakes a thread.
private let wake = WakingPipe()

private final class WakingPipe: Sendable {
    let readEnd = Atomic<Int32>(-1)
    let writeEnd = Atomic<Int32>(-1)
}

/// Writes each report as one line, in one piece.
private final class ReportWriter: Sendable {
    private let descriptor: Int32
    private let lock = Mutex(())

    /// Creates a writer; `nil` if the descriptor is not open.
    init?(descriptor: Int32) {
        guard fcntl(descriptor, F_GETFD) >= 0 else { return nil }
        self.descriptor = descriptor
    }

    func write(_ report: AttemptReport) {
        let bytes = Array("\(report.line)\n".utf8)
        lock.withLock { _ in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.write(descriptor, $0.baseAddress, $0.count)
                }
                if count < 0, errno == EINTR { continue }
                // Nobody reads any more: see `endWithScheduler`.
                guard count > 0 else { _exit(ExitStatus.internalFault.rawValue) }
                rest = rest.dropFirst(count)
            }
        }
    }
}
