/// Where the text of an export comes from.
protocol ByteSource: AnyObject {
    /// The bytes of the whole text, when they are known before it is read.
    var total: Int64? { get }

    /// The files beside the text that are not read, by sort; whole only after the end of the text.
    var attachments: [String: Int64] { get }

    /// Reads into `buffer` and tells how many bytes; 0 only at the end of the text.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ByteSourceBreak) -> Int
}

extension ByteSource {
    var attachments: [String: Int64] { [:] }
}

/// Why a source gives no more bytes before its end.
struct ByteSourceBreak: Error {
    var reason: String
    /// Whether the disk did not give the bytes; else they are the source's fault.
    var isOfDisk = false
}

/// Tells an export by its first bytes, since its name is in the phone's language.
enum ExportSignature {
    /// The bytes of a text in which its root or its document type must begin.
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

    /// Whether these are the first bytes of a zip archive, an empty one included.
    static func isZip(_ head: Bytes) -> Bool {
        head.hasPrefix("PK\u{03}\u{04}", at: 0) || head.hasPrefix("PK\u{05}\u{06}", at: 0)
    }
}
