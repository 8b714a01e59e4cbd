import ClarityScheduler
import Platform
@preconcurrency import Glibc

/// Spaces the requests of all processes that share a file.
///
/// The file holds the instant of the next free turn. A process that takes a turn moves that instant
/// on by one interval, under a lock (flock(2)) that it holds for this moment only, and then waits
/// for its turn without a lock. So turns are taken in the order of asking, nobody is overtaken, and
/// a killed process costs the others at most the turns that it had taken. This is the generic cell
/// rate algorithm (GCRA) without a burst: unused turns are not saved up.
struct SharedPace: Sendable {
    /// What a request for a turn leads to.
    enum Turn: Hashable, Sendable {
        /// The turn is taken; carries how long to wait for it.
        case taken(wait: Duration)
        /// Nothing was taken, because the wait would be longer than the caller's patience.
        case tooLate(wait: Duration)
        /// Another process holds the lock.
        case locked
    }

    /// Turns later than this come from a damaged file or another clock, and are ignored: no process
    /// waits longer than `LimitedTransport.longestWait`, and no interval is longer than 10 s.
    static let farthest = Duration.seconds(60)

    let file: LimitFile
    let interval: Duration
    /// Identifies the boot that the clock counts from: a turn of another boot has passed.
    let boot: String

    /// Takes the next turn if it comes within `patience`; `now` is the time since the boot.
    func take(at now: Duration, patience: Duration) throws(TransportError) -> Turn {
        guard let lock = try file.lock() else { return .locked }
        defer { withExtendedLifetime(lock) {} }
        let turn = max(now, next(in: try file.read(), at: now))
        guard turn - now <= patience else { return .tooLate(wait: turn - now) }
        try file.write(text(turn + interval))
        return .taken(wait: turn - now)
    }

    /// Returns the next free turn that `text` holds; `now` if there is none to respect.
    private func next(in text: String, at now: Duration) -> Duration {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard words.count == 2, words[0] == boot, let number = Int64(words[1]) else { return now }
        let next = Duration.microseconds(number)
        return next - now <= SharedPace.farthest ? next : now
    }

    /// Of the same length for every turn of a boot, so that no write leaves a part of an old text.
    private func text(_ next: Duration) -> String {
        let (seconds, attoseconds) = next.components
        // Rounded up: a turn must not begin early.
        let number = String(
            seconds * 1_000_000 + (attoseconds + 999_999_999_999) / 1_000_000_000_000)
        return "\(boot) " + String(repeating: "0", count: max(0, 18 - number.count)) + number + "\n"
    }
}

/// A small file in the folder of the limits, accessible only to its owner.
struct LimitFile: Sendable {
    let folder: String
    let name: String

    private var path: String { "\(folder)/\(name)" }

    /// Locks the file, which is created if it is missing; `nil` while another holds the lock.
    func lock() throws(TransportError) -> FileLock? {
        do throws(SystemError) {
            return try FileLock.take(path, LOCK_EX, patience: .zero, makesFile: true)
        } catch {
            guard error.code == ENOENT, mkdir(folder, 0o700) == 0 || errno == EEXIST else {
                throw fault(error.code)
            }
        }
        // The folder was missing, and exists now.
        do throws(SystemError) {
            return try FileLock.take(path, LOCK_EX, patience: .zero, makesFile: true)
        } catch {
            throw fault(error.code)
        }
    }

    /// Returns the file's text.
    func read() throws(TransportError) -> String {
        do throws(WholeFile.Fault) {
            return String(decoding: try WholeFile.bytes(of: path, atMost: 4096), as: UTF8.self)
        } catch {
            // A file that is too large is not ours; it holds no turn.
            guard case .refused(let code) = error else { return "" }
            throw fault(code)
        }
    }

    /// Replaces the file's text.
    func write(_ text: String) throws(TransportError) {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw fault(errno) }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        var count = pwrite(descriptor, bytes, bytes.count, 0)
        while count < 0, errno == EINTR { count = pwrite(descriptor, bytes, bytes.count, 0) }
        guard count >= 0 else { throw fault(errno) }
        // A short write means that the disk is full.
        guard count == bytes.count else { throw fault(ENOSPC) }
        guard ftruncate(descriptor, off_t(count)) == 0 else { throw fault(errno) }
    }

    private func fault(_ code: Int32) -> TransportError {
        .limitsUnusable(
            "cannot keep the backend's limits in `\(folder)`: " + SystemError(code: code).text)
    }
}
