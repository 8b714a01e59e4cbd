public import ClarityScheduler
import Platform
import Synchronization
@preconcurrency import Glibc

/// What running attempts have written and how far they are, for whoever asks before they end.
///
/// An attempt has at most three files for this beside its lock (`AttemptLocks`): `.out`, `.progress`,
/// and `.report` of its program. They are not synced, and whoever cannot write them goes on without:
/// when the attempt ends, the history gets its output from the scheduler's memory. Only for an
/// attempt whose scheduler was killed the history takes what is in the file.
public struct LiveAttempts: Sendable {
    static let output = ".out"
    static let progress = ".progress"
    static let report = ".report"
    /// How the names end of all files that an attempt may have beside its lock.
    static let endings = [output, progress, report]

    /// Whether a file beside the locks of attempts has what `output(of:)` or `progress(of:)` returns.
    public static func isOutput(_ name: String) -> Bool {
        name.hasSuffix(output) || name.hasSuffix(progress)
    }

    private let folder: String
    private let owner: String
    /// Where the progress is told besides, for other machines.
    var board: ProgressBoard?

    /// The attempts of a state directory, for looking at them.
    init(inDirectory directory: String) { self.init(folder: "\(directory)/attempts", owner: "") }

    /// - Parameter owner: the name of the `LeaseLock` of the scheduler that writes.
    init(folder: String, owner: String) { (self.folder, self.owner) = (folder, owner) }

    // MARK: Writing

    /// Returns the place for the output of an attempt of this scheduler.
    ///
    /// - Parameter limit: at most twice as many bytes are there, and half as many at least.
    func output(of order: AttemptOrder, limit: Int) -> LiveOutput {
        LiveOutput(path(order) + LiveAttempts.output, limit: limit)
    }

    /// Returns the place for the progress of an attempt of this scheduler.
    func progress(of order: AttemptOrder, clock: any WallClock) -> LiveProgress {
        LiveProgress(path(order) + LiveAttempts.progress, clock) { [board] progress in
            board?.note(progress, of: order.run, order.attempt)
        }
    }

    /// Returns the file into which the program of an attempt of this scheduler may write its report.
    func report(of order: AttemptOrder) -> ReportFile {
        ReportFile(path(order) + LiveAttempts.report)
    }

    private func path(_ order: AttemptOrder) -> String { path(order.run, order.attempt) }

    private func path(_ run: RunID, _ number: Int) -> String {
        "\(folder)/\(owner).\(run).\(number)"
    }

    // MARK: Reading

    /// Returns what an attempt has written so far; `nil` if nothing.
    func output(of run: RunID, _ number: Int) -> AttemptOutput? {
        guard let bytes = bytes(of: run, number, LiveAttempts.output),
            bytes.count > LiveOutput.markLength,
            let dropped = Int64(
                String(decoding: bytes.prefix(LiveOutput.markLength - 1), as: UTF8.self))
        else { return nil }
        let kept = Array(bytes.dropFirst(LiveOutput.markLength))
        return dropped == 0
            ? AttemptOutput(head: kept)
            : AttemptOutput(head: [], leftOutBytes: dropped, tail: kept)
    }

    /// Returns how far an attempt is; `nil` if it has not said.
    func progress(of run: RunID, _ number: Int) -> AttemptProgress? {
        bytes(of: run, number, LiveAttempts.progress).flatMap {
            AttemptProgress(text: String(decoding: $0, as: UTF8.self))
        }
    }

    private func bytes(of run: RunID, _ number: Int, _ ending: String) -> [UInt8]? {
        let end = ".\(run).\(number)\(ending)"
        guard let name = WholeFile.readableNames(in: folder)?.last(where: { $0.hasSuffix(end) })
        else { return nil }
        do throws(WholeFile.Fault) {
            return try WholeFile.bytes(
                of: "\(folder)/\(name)", atMost: 64 << 20, flags: O_NOFOLLOW | O_NONBLOCK)
        } catch {
            // It has ended in this moment.
            return nil
        }
    }

    /// Adds to the attempts whose scheduler has ended before them what they had written.
    func completing(_ changes: [LedgerChange]) -> [LedgerChange] {
        changes.map { change in
            // Those of this scheduler have their output already, or wrote none.
            guard case .putAttempt(var attempt) = change, attempt.result != .running,
                attempt.output == nil, access(path(attempt.run, attempt.number), F_OK) != 0
            else { return change }
            attempt.output = output(of: attempt.run, attempt.number)
            return .putAttempt(attempt)
        }
    }
}

/// The end of a program's output, as a file that begins with the number of bytes before it.
final class LiveOutput: Sendable {
    /// Twenty digits and a line feed.
    static let markLength = 21

    private struct State {
        /// -1 before the first output, and once the file cannot be written.
        var file: Int32 = -1
        var size = 0
        var isUsable = true
    }

    private let path: String
    private let limit: Int
    private let state = Mutex(State())

    init(_ path: String, limit: Int) { (self.path, self.limit) = (path, limit) }

    deinit {
        state.withLock { if $0.file >= 0 { close($0.file) } }
    }

    /// Appends output.
    ///
    /// - Parameters:
    ///   - total: the number of bytes of output until now, these included.
    ///   - last: the last bytes of it, these included; at least half of `limit`, if there are so many.
    func append(_ bytes: ArraySlice<UInt8>, total: Int64, last: [UInt8]) {
        state.withLock { state in
            guard state.isUsable else { return }
            var text = Array(bytes)
            if state.file < 0 {
                state.file = open(
                    path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
                text = LiveOutput.mark(0) + text
            }
            if state.size + text.count > 2 * limit + LiveOutput.markLength {
                let kept = last.suffix(limit)
                text = LiveOutput.mark(total - Int64(kept.count)) + kept
                state.isUsable = ftruncate(state.file, 0) == 0
                state.size = 0
            }
            guard state.isUsable else { return }
            let count = pwrite(state.file, text, text.count, off_t(state.size))
            state.isUsable = count == text.count
            state.size += text.count
        }
    }

    private static func mark(_ dropped: Int64) -> [UInt8] {
        let digits = String(dropped)
        return Array((String(repeating: "0", count: 20 - digits.utf8.count) + digits + "\n").utf8)
    }
}

/// How far an attempt is, as a file of one line.
struct LiveProgress {
    private let path: String
    private let clock: any WallClock
    private let tell: @Sendable (AttemptProgress) -> Void
    private var progress: AttemptProgress?
    private var writtenAt: Duration?

    /// - Parameter tell: is told what is written down.
    init(
        _ path: String, _ clock: any WallClock,
        tell: @escaping @Sendable (AttemptProgress) -> Void = { _ in }
    ) {
        (self.path, self.clock, self.tell) = (path, clock, tell)
    }

    /// Notes that `done` of `total` is done, and writes it down at most once a second.
    mutating func note(_ done: Int64, _ total: Int64) {
        guard total > 0 else { return }
        let now = clock.now
        var next = progress ?? AttemptProgress(done: done, total: total, since: now, at: now)
        // The next part of the work, such as another file.
        if total != next.total || done < next.done { next.since = next.at }
        (next.done, next.total, next.at) = (done, total, now)
        progress = next
        let elapsed = clock.elapsed
        if let writtenAt, elapsed - writtenAt < .seconds(1) { return }
        writtenAt = elapsed
        tell(next)
        let bytes = Array(next.text.utf8)
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        // In one write, so that a reader finds all of it or nothing.
        pwrite(file, bytes, bytes.count, 0)
        close(file)
    }
}

extension AttemptProgress {
    /// A line of text.
    var text: String {
        "\(done) \(total) \(since.millisecondsSince1970) \(at.millisecondsSince1970)\n"
    }

    init?(text: String) {
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Int64($0) }
        guard numbers.count == 4 else { return nil }
        self.init(
            done: numbers[0], total: numbers[1], since: Instant(millisecondsSince1970: numbers[2]),
            at: Instant(millisecondsSince1970: numbers[3]))
    }
}

/// Passes orders to a worker, and writes down how far their attempts are.
public struct ProgressKeepingWorker: Worker {
    private let worker: any Worker
    private let live: LiveAttempts
    private let clock: any WallClock

    /// Creates a worker that does what `worker` does.
    public init(_ worker: any Worker, _ live: LiveAttempts, clock: any WallClock) {
        (self.worker, self.live, self.clock) = (worker, live, clock)
    }

    public func run(
        _ order: AttemptOrder, signals: AsyncStream<AttemptSignal>,
        progress: @escaping ProgressHandler
    ) async -> AttemptEnd {
        let place = Mutex(live.progress(of: order, clock: clock))
        defer { live.board?.remove(order.run) }
        return await worker.run(order, signals: signals) { done, total in
            place.withLock { $0.note(done, total) }
            progress(done, total)
        }
    }
}
