import ClarityScheduler
import ClaritySystem
import ClarityWorkers
@preconcurrency import Glibc
import Synchronization

/// One attempt for the scheduler: the order comes on descriptor 3, the reports go to 4, and 5 is the
/// lock of the scheduler's lease, which must not outlive this process in a child of it.
enum AttemptMode {
    private static let orderNumber: Int32 = 3
    private static let reportNumber: Int32 = 4
    private static let lockNumber: Int32 = 5

    static func run() async -> ExitStatus {
        guard let order = readOrder() else { return .faultyInput }
        guard startThread({ endWithScheduler() }),
            let reports = ReportWriter(descriptor: reportNumber)
        else {
            complain("cannot start: \(String(cString: strerror(errno)))")
            return .internalFault
        }
        let attempt = Task {
            await Attempt.run(
                order, environment: keyEnvironment(named: order.options["key.variable"]),
                clock: SystemClock(),
                transport: {
                    try CurlTransport(version: programVersion, trust: WorkOptions(order).trust())
                },
                report: { reports.write($0) }, isEnding: { isWarned })
        }
        guard startThread({ cancel(attempt, after: order.warning / 2) }) else {
            complain("cannot start: \(String(cString: strerror(errno)))")
            return .internalFault
        }
        reports.write(.outcome(await attempt.value))
        return .done
    }

    /// Cancels what is still under way when half of the time from the warning to the end is over: a
    /// request whose answer does not come would otherwise be waited for until the end, and then the
    /// place where the work stood would be lost.
    private static func cancel(_ attempt: Task<Outcome, Never>, after span: Duration) {
        var byte: UInt8 = 0
        let descriptor = wake.hear.load(ordering: .relaxed)
        while read(descriptor, &byte, 1) < 0, errno == EINTR {}
        let clock = SystemClock()
        let end = clock.elapsed + span
        while clock.elapsed < end {
            poll(nil, 0, Int32(clamping: (end - clock.elapsed).milliseconds + 1))
        }
        attempt.cancel()
    }

    /// Takes the signals and descriptors over; the first thing that the program does.
    static func prepare() {
        // Made first: the handler must not be the one that makes the flag.
        _ = isWarned
        var ends: [Int32] = [-1, -1]
        if pipe(&ends) != 0 { complain("cannot be warned: \(String(cString: strerror(errno)))") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        wake.hear.store(ends[0], ordering: .relaxed)
        wake.ring.store(ends[1], ordering: .relaxed)
        signal(SIGTERM) { _ in
            var byte: UInt8 = 1
            warning.store(true, ordering: .relaxed)
            // A pipe that is full has woken whoever waits long ago.
            _ = write(wake.ring.load(ordering: .relaxed), &byte, 1)
        }
        // Whoever started this process may have held the signal back.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        // A scheduler that is gone shows as an error of the write.
        signal(SIGPIPE, SIG_IGN)
        for descriptor in [orderNumber, reportNumber, lockNumber] {
            // One that is not open needs no flag.
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
    }

    private static func readOrder() -> AttemptOrder? {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        var lines: [String] = []
        // Byte by byte: what comes after `end` is for the watching thread.
        while lines.last != "end" {
            let count = read(orderNumber, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else {
                complain("no whole order on descriptor 3")
                return nil
            }
            if byte == UInt8(ascii: "\n") {
                lines.append(String(decoding: bytes, as: UTF8.self))
                bytes.removeAll(keepingCapacity: true)
            } else {
                bytes.append(byte)
            }
        }
        do {
            return try AttemptOrder(lines: lines)
        } catch {
            complain("the order on descriptor 3 is faulty: expected \(error.expected)")
            return nil
        }
    }

    /// Ends this process at once when the scheduler has ended: nobody is left who knows of the
    /// attempt, and another scheduler may start it anew. What was not settled comes again unchanged.
    private static func endWithScheduler() {
        var byte: UInt8 = 0
        while true {
            let count = read(orderNumber, &byte, 1)
            if count == 0 || (count < 0 && errno != EINTR) {
                _exit(ExitStatus.internalFault.rawValue)
            }
        }
    }

    /// Whether the scheduler has warned.
    private static var isWarned: Bool { warning.load(ordering: .relaxed) }
}

/// Set by SIGTERM. Global, since a signal's handler has no other way to anything.
private let warning = Atomic(false)

/// The two ends of a pipe, by which the handler wakes a thread.
private let wake = WakingPipe()

private final class WakingPipe: Sendable {
    let hear = Atomic<Int32>(-1)
    let ring = Atomic<Int32>(-1)
}

/// Writes reports, each as one line in one piece.
private final class ReportWriter: Sendable {
    private let descriptor: Int32
    private let lock = Mutex(())

    /// `nil` when the descriptor is not open.
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
                // Nobody reads any more: see `AttemptMode.endWithScheduler`.
                guard count > 0 else { _exit(ExitStatus.internalFault.rawValue) }
                rest = rest.dropFirst(count)
            }
        }
    }
}
