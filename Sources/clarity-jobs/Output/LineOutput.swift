import Platform
@preconcurrency import Glibc

/// A file or standard output that receives one whole line at a time.
struct LineOutput: Sendable {
    private let descriptor: Int32

    /// Writes to standard output.
    static let standard = LineOutput(descriptor: STDOUT_FILENO)

    private init(descriptor: Int32) { self.descriptor = descriptor }

    /// Creates a file that only its owner can access.
    ///
    /// An existing file is left unchanged and refused, unless it may be replaced. The file stays
    /// open for as long as the process lives.
    init(makingFileAt path: String, mayReplace: Bool) throws(SystemError) {
        descriptor = open(
            path, O_WRONLY | O_CREAT | O_CLOEXEC | (mayReplace ? O_TRUNC : O_EXCL), 0o600)
        guard descriptor >= 0 else { throw SystemError() }
    }

    /// Writes a line. If it cannot be written completely, a file is truncated to its earlier
    /// length.
    func write(_ line: String) throws(SystemError) {
        let start = lseek(descriptor, 0, SEEK_CUR)
        let code = Console.write(line + "\n", to: descriptor)
        guard code != 0 else { return }
        if start >= 0 { ftruncate(descriptor, start) }
        throw SystemError(code: code)
    }
}
