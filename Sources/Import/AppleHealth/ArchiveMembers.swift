import CArchive
import Platform
import Glibc

/// A zip archive, and the blocks of its current member.
///
/// It reads blocks rather than `archive_read_data`, which loses what it has copied if the next
/// block is damaged.
final class ArchiveMembers {
    private let archive: OpaquePointer
    /// Kept open as long as the archive reads from it.
    private let file: OpenFile
    private var entry: OpaquePointer?
    /// Why the member gives no more; thrown again at every call.
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

    /// Moves to the next member; returns `false` at the end of the archive.
    func advance() throws(ByteSourceBreak) -> Bool {
        broken = nil
        entry = nil
        switch archive_read_next_header(archive, &entry) {
        case ARCHIVE_OK, ARCHIVE_WARN: return true
        case ARCHIVE_EOF: return false
        default: throw fault
        }
    }

    /// The name of the member as bytes; `nil` if it cannot be read.
    var name: [UInt8]? {
        guard let entry,
            let name = archive_entry_pathname_utf8(entry) ?? archive_entry_pathname(entry)
        else { return nil }
        return Array(String(cString: name).utf8)
    }

    /// The size of the member in bytes, if the archive gives it.
    var size: Int64? {
        guard let entry, archive_entry_size_is_set(entry) != 0 else { return nil }
        return archive_entry_size(entry)
    }

    /// The member's compression in libarchive's word, which is at the end of its name for the
    /// format: `ZIP 2.0 (deflation)`.
    private var method: String {
        let format = archive_format_name(archive).map { String(cString: $0) } ?? ""
        return String(format.drop { $0 != "(" }.dropFirst().prefix { $0 != ")" })
    }

    /// The methods that need little memory whatever the archive says. For LZMA and similar methods
    /// the archive itself sets the amount, up to 4 GiB, and no phone makes such an archive.
    private static var modestMethods: Set<String> {
        ["uncompressed", "deflation", "deflation-64-bit", "bzip"]
    }

    /// Returns the next block of the member, valid until the next call; `nil` at its end.
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
        // The last block of a member with a wrong checksum or size comes with a warning.
        case ARCHIVE_WARN: broken = fault
        default:
            let error = fault
            broken = error
            throw error
        }
        return UnsafeRawBufferPointer(start: block, count: count)
    }

    /// Why the archive cannot be read further. libarchive's own faults have EILSEQ (the form is
    /// wrong) or a number below 0; a failed read(2) has the system's.
    private var fault: ByteSourceBreak {
        let code = archive_errno(archive)
        guard [EIO, ENXIO, ESTALE, ETIMEDOUT].contains(code) else {
            return ByteSourceBreak(reason: reason)
        }
        return ByteSourceBreak(reason: SystemError(code: code).reason, isOfDisk: true)
    }

    private var reason: String {
        let text = archive_error_string(archive).map { String(cString: $0) }
        return "the archive is damaged or cut off (\(text ?? "no reason given"))"
    }
}
