import CArchive
import Glibc

/// A zip archive, and the blocks of the member at which it stands.
///
/// Blocks, and not `archive_read_data`: that one forgets what it has copied when the next block is
/// damaged.
final class ArchiveMembers {
    private let archive: OpaquePointer
    /// Kept open as long as the archive reads from it.
    private let file: OpenFile
    private var entry: OpaquePointer?
    /// Why the member gives no more; told again at every call.
    private var broken: ByteSourceBreak?

    /// Opens a file as a zip archive, without reading from it.
    init(_ file: OpenFile, path: String) throws(SourceError) {
        guard let archive = archive_read_new() else {
            throw .unreadable(path: path, reason: "out of memory")
        }
        self.archive = archive
        self.file = file
        archive_read_support_format_zip(archive)
        guard archive_read_open_fd(archive, file.descriptor, 1 << 18) == ARCHIVE_OK else {
            let fault = fault
            throw fault.isOfDisk
                ? .unreadable(path: path, reason: fault.reason)
                : .damaged(path: path, reason: fault.reason)
        }
    }

    deinit { archive_read_free(archive) }

    /// Goes to the next member; false at the end of the archive.
    func advance() throws(ByteSourceBreak) -> Bool {
        broken = nil
        entry = nil
        switch archive_read_next_header(archive, &entry) {
        case ARCHIVE_OK, ARCHIVE_WARN: return true
        case ARCHIVE_EOF: return false
        default: throw fault
        }
    }

    /// The name of the member in bytes; `nil` when it cannot be read.
    var name: [UInt8]? {
        guard let entry,
            let name = archive_entry_pathname_utf8(entry) ?? archive_entry_pathname(entry)
        else { return nil }
        return Array(String(cString: name).utf8)
    }

    /// The bytes of the member, when the archive tells.
    var size: Int64? {
        guard let entry, archive_entry_size_is_set(entry) != 0 else { return nil }
        return archive_entry_size(entry)
    }

    /// How the member is compressed, in libarchive's word, which stands at the end of what it calls
    /// the format: `ZIP 2.0 (deflation)`.
    private var method: String {
        let format = archive_format_name(archive).map { String(cString: $0) } ?? ""
        return String(format.drop { $0 != "(" }.dropFirst().prefix { $0 != ")" })
    }

    /// The methods that take little memory whatever the archive says: of LZMA and the like it says
    /// itself how much, up to 4 GiB, and no phone makes such a one.
    private static var modestMethods: Set<String> {
        ["uncompressed", "deflation", "deflation-64-bit", "bzip"]
    }

    /// The next block of the member, valid until the next call; `nil` at its end.
    func nextBlock() throws(ByteSourceBreak) -> UnsafeRawBufferPointer? {
        if let broken { throw broken }
        guard ArchiveMembers.modestMethods.contains(method) else {
            let error = ByteSourceBreak(
                reason: "it is compressed by \(method), which is not read; zip it anew")
            broken = error
            throw error
        }
        var block: UnsafeRawPointer?
        var count = 0
        var offset: Int64 = 0
        switch archive_read_data_block(archive, &block, &count, &offset) {
        case ARCHIVE_OK: break
        case ARCHIVE_EOF: return nil
        // The last block of a member with a wrong checksum or size comes with the warning.
        case ARCHIVE_WARN: broken = fault
        default:
            let error = fault
            broken = error
            throw error
        }
        return UnsafeRawBufferPointer(start: block, count: count)
    }

    /// Why the archive goes no further. Of its own reasons libarchive says that the form is wrong
    /// (EILSEQ) or a number below 0; of a failed read(2) the system's.
    private var fault: ByteSourceBreak {
        let code = archive_errno(archive)
        guard [EIO, ENXIO, ESTALE, ETIMEDOUT].contains(code) else {
            return ByteSourceBreak(reason: reason)
        }
        return ByteSourceBreak(reason: String(cString: strerror(code)).lowercased(), isOfDisk: true)
    }

    private var reason: String {
        let text = archive_error_string(archive).map { String(cString: $0) }
        return "the archive is damaged or cut off (\(text ?? "no reason given"))"
    }
}
