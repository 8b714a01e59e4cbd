import Platform
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
        let count = file.read(into: buffer)
        guard count >= 0 else {
            throw ByteSourceBreak(
                reason: SystemError().reason, isOfDisk: true)
        }
        return count
    }
}
