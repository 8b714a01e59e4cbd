import Platform
@preconcurrency import Glibc
import SwiftOverlayShims

/// A job file that has no name yet: it disappears with this process unless it is published.
struct JobFileDraft: ~Copyable {
    private let descriptor: Int32
    private let text: String

    init(_ text: String) throws(CommandFailure) {
        descriptor = try JobFileDraft.nameless(text)
        self.text = text
    }

    private static func nameless(_ text: String) throws(CommandFailure) -> Int32 {
        var name = Array("/tmp/clarity-jobs.XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw failure("a temporary file") }
        unlink(name)
        let bytes = Array(text.utf8)
        guard write(descriptor, bytes, bytes.count) == bytes.count else {
            close(descriptor)
            throw failure("a temporary file")
        }
        return descriptor
    }

    deinit { close(descriptor) }

    /// A path that this process and its children can open.
    var path: String { "/proc/self/fd/\(descriptor)" }

    /// Writes the file, unless there is one already.
    ///
    /// - Parameter model: the file whose owner and mode the new one gets; without one, only this
    ///   user may read it.
    func publish(as target: String, like model: String? = nil) throws(CommandFailure) {
        let folder = String(target[..<(target.lastIndex(of: "/") ?? target.startIndex)])
        var made = ""
        for part in folder.split(separator: "/") {
            made += "/\(part)"
            guard mkdir(made, 0o700) == 0 || errno == EEXIST else {
                throw JobFileDraft.failure(made)
            }
        }
        var name = Array("\(target).XXXXXX".utf8CString)
        let file = mkstemp(&name)
        guard file >= 0 else { throw JobFileDraft.failure(target) }
        let bytes = Array(text.utf8)
        var status = stat()
        if let model, stat(model, &status) == 0 {
            fchmod(file, status.st_mode & 0o666)
            // Only root may give a file away; for everybody else it is their own already.
            if geteuid() == 0 { fchown(file, status.st_uid, status.st_gid) }
        }
        let isWritten = write(file, bytes, bytes.count) == bytes.count && fsync(file) == 0
        close(file)
        // link(2), unlike rename(2), replaces nothing.
        let isLinked = isWritten && link(name, target) == 0
        let code = errno
        unlink(name)
        guard isLinked else {
            errno = code
            throw JobFileDraft.failure(target)
        }
    }

    private static func failure(_ what: String) -> CommandFailure {
        let problem = SystemError().reason
        return CommandFailure(.disk, "cannot write `\(what)`: \(problem)")
    }
}
