@preconcurrency import Glibc

/// A file, or standard output, that takes whole lines, each at once.
struct LineOutput: Sendable {
    /// Why a file cannot be made or a line not be written.
    struct Fault: Error {
        var code: Int32

        var problem: String { String(cString: strerror(code)).lowercased() }
        /// Whether the reader of a pipe went away, as `head` does.
        var isReaderGone: Bool { code == EPIPE }
        /// Whether the disk is full or fails, or may not be written at all.
        var isDisk: Bool { [ENOSPC, EIO, EDQUOT, EROFS].contains(code) }
    }

    private let descriptor: Int32

    /// Writes to standard output.
    static let standard = LineOutput(descriptor: STDOUT_FILENO)

    private init(descriptor: Int32) { self.descriptor = descriptor }

    /// Makes a file, open to its owner alone; one that exists is kept as it is unless it may be
    /// replaced. The file stays open for as long as the process lives.
    init(makingFileAt path: String, mayReplace: Bool) throws(Fault) {
        descriptor = open(
            path, O_WRONLY | O_CREAT | O_CLOEXEC | (mayReplace ? O_TRUNC : O_EXCL), 0o600)
        guard descriptor >= 0 else { throw Fault(code: errno) }
    }

    /// Writes a line; of one that cannot be written whole, a file keeps nothing.
    func write(_ line: String) throws(Fault) {
        let start = lseek(descriptor, 0, SEEK_CUR)
        let code = Console.write(line, to: descriptor)
        guard code != 0 else { return }
        if start >= 0 { ftruncate(descriptor, start) }
        throw Fault(code: code)
    }
}
