@preconcurrency import Glibc

/// The source of an export's text.
protocol ByteSource: AnyObject {
    /// The bytes of the whole text, if they are known before it is read.
    var total: Int64? { get }

    /// The files beside the text that are not read, by sort; complete only at the end of the text.
    var attachments: [String: Int64] { get }

    /// Reads into `buffer` and returns the number of bytes; 0 only at the end of the text.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ByteSourceBreak) -> Int
}

extension ByteSource {
    var attachments: [String: Int64] { [:] }
}

/// Why a source delivers no more bytes before its end.
struct ByteSourceBreak: Error {
    var reason: String
    /// Whether the disk failed to deliver the bytes; otherwise the source is at fault.
    var isOfDisk = false
}

/// Recognises an export by its first bytes, because its name is in the phone's language.
enum ExportSignature {
    /// The number of bytes in which the root or the document type must begin.
    static let length = 1024

    static func isExport(_ head: Bytes) -> Bool {
        var index = 0
        while let start = head.firstIndex(of: .lessThan, from: index) {
            if head.hasPrefix("<!DOCTYPE HealthData", at: start)
                || head.hasPrefix("<HealthData", at: start)
            {
                return true
            }
            index = start + 1
        }
        return false
    }

    /// Whether these are the first bytes of a zip archive, even of an empty one.
    static func isZip(_ head: Bytes) -> Bool {
        head.hasPrefix("PK\u{03}\u{04}", at: 0) || head.hasPrefix("PK\u{05}\u{06}", at: 0)
    }
}

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
