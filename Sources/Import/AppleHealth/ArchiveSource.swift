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
    /// - Throws: `SourceError.noExportInside`, or `damaged` if the archive breaks off before the
    ///   export.
    init(
        _ file: OpenFile, path: String, limit: Int64 = ArchiveSource.sizeLimit
    ) throws(SourceError) {
        self.limit = limit
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
