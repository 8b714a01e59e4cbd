@preconcurrency import Glibc

/// An open file or folder.
final class OpenFile {
    let descriptor: Int32
    private let status: stat

    /// Opens `path` for reading, without waiting for a pipe or a device.
    ///
    /// - Throws: `SourceError.missing`, `noPermission`, `unreadable`.
    init(path: String) throws(SourceError) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT, ENOTDIR: throw .missing(path: path)
            case EACCES, EPERM: throw .noPermission(path: path)
            case let code:
                throw .unreadable(path: path, reason: String(cString: strerror(code)).lowercased())
            }
        }
        var found = stat()
        guard fstat(descriptor, &found) == 0 else {
            let reason = String(cString: strerror(errno)).lowercased()
            close(descriptor)
            throw .unreadable(path: path, reason: reason)
        }
        status = found
    }

    deinit { close(descriptor) }

    var isFolder: Bool { status.st_mode & S_IFMT == S_IFDIR }
    var isRegular: Bool { status.st_mode & S_IFMT == S_IFREG }
    var size: Int64 { Int64(status.st_size) }

    /// Returns the first bytes, enough to recognise the file; the reading position does not move.
    func head(path: String) throws(SourceError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: ExportSignature.length)
        let count = bytes.withUnsafeMutableBytes { buffer in
            retrying { pread(descriptor, buffer.baseAddress, buffer.count, 0) }
        }
        guard count >= 0 else {
            throw .unreadable(path: path, reason: String(cString: strerror(errno)).lowercased())
        }
        return Array(bytes.prefix(count))
    }
}

/// The text of an export in a plain file.
final class FileSource: ByteSource {
    private let file: OpenFile
    let attachments: [String: Int64]

    var total: Int64? { file.size }

    /// Reads `file` from its beginning; `attachments` are the files beside it.
    init(_ file: OpenFile, attachments: [String: Int64] = [:]) {
        self.file = file
        self.attachments = attachments
        // Only a hint, which some file systems ignore.
        posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_SEQUENTIAL)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ByteSourceBreak) -> Int {
        let count = retrying { Glibc.read(file.descriptor, buffer.baseAddress, buffer.count) }
        guard count >= 0 else {
            throw ByteSourceBreak(
                reason: String(cString: strerror(errno)).lowercased(), isOfDisk: true)
        }
        return count
    }
}

/// Repeats a call that a signal interrupted.
private func retrying(_ call: () -> Int) -> Int {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}
