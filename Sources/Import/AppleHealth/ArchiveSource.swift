import CArchive
import Platform
import Glibc

/// The text of an export inside a zip archive, inflated as it is read; nothing is extracted.
final class ArchiveSource: ByteSource {
    /// The most bytes that are inflated: 64 GiB, twenty times the largest known export. An archive
    /// with more was made to fill a machine.
    static let sizeLimit: Int64 = 64 << 30

    private let members: ArchiveMembers
    private let limit: Int64
    /// The first bytes, by which the member was recognised, as far as they were not read yet.
    private var head: ArraySlice<UInt8> = []
    private var block = UnsafeRawBufferPointer(start: nil, count: 0)
    private var given: Int64 = 0
    let total: Int64?
    private(set) var attachments: [String: Int64] = [:]
    private var isAtEnd = false

    /// Finds the export in the archive and moves to its beginning.
    ///
    /// The export is the first member that has at most one `/` in its name, ends in `.xml` in
    /// whatever language, and begins as an export does. A name that cannot be read rules nothing
    /// out.
    ///
    /// - Throws: `SourceError.noExportInside`, `severalExports`, or `damaged` if the archive breaks
    ///   off before the export.
    init(
        _ file: OpenFile, path: String, limit: Int64 = ArchiveSource.sizeLimit
    ) throws(SourceError) {
        self.limit = limit
        let exports = ArchiveSource.firstExports(try ArchiveMembers(file, path: path))
        guard exports.count < 2 else { throw .severalExports(path: path, exports) }
        members = try ArchiveMembers(file, path: path)
        var unreadable: ByteSourceBreak?
        do throws(ByteSourceBreak) {
            while try members.advance() {
                let name = members.name
                guard ArchiveSource.isCandidate(name) else {
                    Attachments.count(name, in: &attachments)
                    continue
                }
                let (found, broken) = ArchiveSource.head(members)
                if found.withUnsafeBufferPointer(ExportSignature.isExport) {
                    head = found[...]
                    total = members.size
                    return
                }
                Attachments.count(name, in: &attachments)
                unreadable = unreadable ?? broken
            }
        } catch {
            throw .damaged(path: path, reason: error.reason)
        }
        // A member that is encrypted or damaged at its beginning may have been the export.
        if let unreadable { throw .damaged(path: path, reason: unreadable.reason) }
        throw .noExportInside(path: path)
    }

    /// Returns the names of the first two exports of an archive, as far as it can be read.
    private static func firstExports(_ members: ArchiveMembers) -> [String] {
        var names: [String] = []
        do throws(ByteSourceBreak) {
            while names.count < 2, try members.advance() {
                let name = members.name
                if isCandidate(name),
                    head(members).bytes.withUnsafeBufferPointer(ExportSignature.isExport)
                {
                    names.append(String(decoding: name ?? [], as: UTF8.self))
                }
            }
        } catch {
            // The reading says where the archive breaks off.
        }
        return names
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ByteSourceBreak) -> Int {
        while head.isEmpty, block.isEmpty {
            guard let next = try members.nextBlock() else {
                countTheRest()
                return 0
            }
            block = next
        }
        let room = Int(min(Int64(buffer.count), limit - given))
        guard room > 0 else {
            throw ByteSourceBreak(
                reason: "the archive inflates to more than \(limit) bytes; it is not read on")
        }
        let count: Int
        if head.isEmpty {
            count = min(block.count, room)
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: block.prefix(count)))
            block = UnsafeRawBufferPointer(rebasing: block.dropFirst(count))
        } else {
            count = min(head.count, room)
            buffer.copyBytes(from: head.prefix(count))
            head.removeFirst(count)
        }
        given += Int64(count)
        return count
    }

    /// Counts the members after the export, once it has been read. If the archive breaks off there,
    /// the count ends; the export is complete.
    private func countTheRest() {
        guard !isAtEnd else { return }
        isAtEnd = true
        do throws(ByteSourceBreak) {
            while try members.advance() {
                Attachments.count(members.name, in: &attachments)
            }
        } catch {}
    }

    private static func isCandidate(_ name: [UInt8]?) -> Bool {
        guard let name else { return true }
        let ending = name.suffix(4).map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }
        return ending == Array(".xml".utf8) && name.count { $0 == .slash } <= 1
    }

    /// Returns the first blocks of the member, as many as it takes to recognise it, and why there
    /// are no more. Reading the member later throws the same reason again, after these bytes.
    private static func head(
        _ members: ArchiveMembers
    ) -> (bytes: [UInt8], broken: ByteSourceBreak?) {
        var bytes: [UInt8] = []
        do throws(ByteSourceBreak) {
            while bytes.count < ExportSignature.length, let block = try members.nextBlock() {
                bytes += block
            }
            return (bytes, nil)
        } catch {
            return (bytes, error)
        }
    }
}

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

    /// Opens a file as a zip archive from its beginning, without reading from it.
    init(_ file: OpenFile, path: String) throws(SourceError) {
        guard lseek(file.descriptor, 0, SEEK_SET) == 0 else {
            throw .unreadable(path: path, reason: SystemError(code: errno).reason)
        }
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
