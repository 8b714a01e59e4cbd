@preconcurrency import Glibc
import Platform

/// Finds the text of an export: in the zip archive that the phone makes, in the folder in it, or
/// in a plain file.
enum ExportSource {
    /// Opens a file or folder and checks its first bytes.
    ///
    /// - Throws: `SourceError` if there is no export.
    static func open(_ place: SourcePlace) throws(SourceError) -> any ByteSource {
        let path = place.path
        let file = try OpenFile(place)
        if file.isFolder { return try inFolder(place) }
        try file.checkHasContents()
        let head = try file.head(ExportSignature.length)
        if head.withUnsafeBufferPointer(ExportSignature.isZip) {
            return ReadAheadSource(try ArchiveSource(file, path: path))
        }
        guard head.withUnsafeBufferPointer(ExportSignature.isExport) else {
            throw .notAnExport(path: path)
        }
        return ReadAheadSource(FileSource(file))
    }

    /// Returns the file at `place`, or the export in the folder there.
    ///
    /// - Throws: `SourceError` for a folder without an export.
    static func file(at place: SourcePlace) throws(SourceError) -> SourcePlace {
        guard try OpenFile(place).isFolder else { return place }
        let folder = try OpenFolder(place)
        return place.inside(try export(among: try entries(folder), in: folder).name)
    }

    private static func inFolder(_ place: SourcePlace) throws(SourceError) -> any ByteSource {
        let folder = try OpenFolder(place)
        let names = try entries(folder)
        let found = try export(among: names, in: folder)
        return ReadAheadSource(
            FileSource(found.file, attachments: attachments(folder, names, except: found.name)))
    }

    /// Returns the only export among the xml files of a folder.
    ///
    /// A file that cannot be read may be beside a sound export. Without one, a link is named.
    private static func export(
        among names: [String], in folder: OpenFolder
    ) throws(SourceError) -> (name: String, file: OpenFile) {
        var refused: SourceError?
        var found: (name: String, file: OpenFile)?
        for name in names where name.lowercased().hasSuffix(".xml") {
            do throws(SourceError) {
                let file = try OpenFile(name, in: folder)
                guard file.isRegular, file.size > 0 else { continue }
                let isExport = try file.head(ExportSignature.length)
                    .withUnsafeBufferPointer(ExportSignature.isExport)
                guard isExport else { continue }
                if let found {
                    throw SourceError.severalExports(path: folder.path, [found.name, name])
                }
                found = (name, file)
            } catch {
                switch error {
                case .severalExports: throw error
                case .symbolicLink, .hardLink: refused = refused ?? error
                default: continue
                }
            }
        }
        if let found { return found }
        throw refused ?? .noExportInside(path: folder.path)
    }

    /// Counts the files beside the export, in its folder and in that folder's folders. A folder
    /// that cannot be listed counts like a file.
    private static func attachments(
        _ folder: OpenFolder, _ names: [String], except export: String
    ) -> [String: Int64] {
        var counts: [String: Int64] = [:]
        func count(_ name: String) { Attachments.count(Array(name.utf8), in: &counts) }
        for name in names where name != export {
            do throws(SourceError) {
                try entries(try OpenFolder(name, below: folder)).forEach(count)
            } catch {
                count(name)
            }
        }
        return counts
    }

    /// Returns the names in a folder, without those that begin with a dot, in order.
    static func entries(_ folder: OpenFolder) throws(SourceError) -> [String] {
        try folder.names { !$0.hasPrefix(".") }
    }
}

/// The files beside the text of an export; they are counted by sort, and `ExportFiles` reads them.
enum Attachments: String, CaseIterable {
    case electrocardiograms
    case workoutRoutes = "workout routes"
    case clinicalRecords = "clinical records"
    /// A part of the same export again, as a CDA document.
    case clinicalDocuments = "clinical documents"
    case others

    /// Finds the sort by the ending of the file's name, because folders may have names in the
    /// phone's language; `nil` for a folder. A name that cannot be read is one of the others.
    init?(name: [UInt8]?) {
        guard let name else {
            self = .others
            return
        }
        if name.last == .slash { return nil }
        let file = name.split(separator: .slash).last ?? []
        let stem = file.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }
        self =
            if stem.hasEnding(".csv") {
                .electrocardiograms
            } else if stem.hasEnding(".gpx") {
                .workoutRoutes
            } else if stem.hasEnding(".json") {
                .clinicalRecords
            } else if stem == Array("export_cda.xml".utf8) {
                .clinicalDocuments
            } else {
                .others
            }
    }

    /// Counts the file `name`, unless it is a folder.
    static func count(_ name: [UInt8]?, in counts: inout [String: Int64]) {
        guard let sort = Attachments(name: name) else { return }
        counts[sort.rawValue, default: 0] += 1
    }
}

extension [UInt8] {
    fileprivate func hasEnding(_ ending: String) -> Bool {
        suffix(ending.utf8.count).elementsEqual(ending.utf8)
    }
}

/// The source of an export's text.
protocol ByteSource: AnyObject {
    /// The bytes of the whole text, if they are known before it is read.
    var total: Int64? { get }

    /// The files beside the text, by sort; complete only at the end of the text.
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

/// Reads another source on a thread of its own, a few blocks ahead of its reader. So an archive is
/// inflated, or a disk waited for, while earlier bytes are scanned.
///
/// The thread ends with the source or with this object, which then waits at most for the block that
/// the thread is reading. If no thread can be created, the source is read directly.
final class ReadAheadSource: ByteSource {
    let total: Int64?
    private let source: any ByteSource
    private let blockSize: Int
    private let blocks: Int
    /// The blocks that the thread may fill; each comes back when it has been taken.
    private let empty: BlockingQueue<[UInt8]>
    private let filled: BlockingQueue<Filled>
    private var thread: JoinedThread?
    private var isStarted = false

    /// The block that is being taken, and the part of it that is left.
    private var block: [UInt8] = []
    private var rest = 0..<0
    private var end: End?

    private enum Filled: Sendable {
        case block([UInt8], count: Int)
        case end(End)
    }

    private struct End: Sendable {
        /// Why the text broke off; `nil` at its end.
        var reason: ByteSourceBreak?
        var attachments: [String: Int64]
    }

    /// - Parameters:
    ///   - source: The source to read; from the first `read` on only the thread uses it.
    ///   - blockSize: The bytes of a block; 256 KiB by default.
    ///   - blocks: The number of blocks, at least 2; 4 by default.
    init(_ source: any ByteSource, blockSize: Int = 1 << 18, blocks: Int = 4) {
        precondition(blocks >= 2, "reading ahead takes two blocks or more, got \(blocks)")
        self.source = source
        self.blockSize = blockSize
        self.blocks = blocks
        total = source.total
        empty = BlockingQueue(room: blocks)
        // One more, for the end.
        filled = BlockingQueue(room: blocks + 1)
    }

    deinit {
        empty.cancel()
        thread?.join()
    }

    /// Complete once the end of the text was read.
    var attachments: [String: Int64] {
        thread == nil ? source.attachments : end?.attachments ?? [:]
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ByteSourceBreak) -> Int {
        if !isStarted {
            isStarted = true
            start()
        }
        guard thread != nil else { return try source.read(into: buffer) }
        if rest.isEmpty, end == nil {
            switch filled.take() {
            case .block(let bytes, let count): (block, rest) = (bytes, 0..<count)
            case .end(let last): end = last
            // Only `cancel` and `finish` end a queue, and nobody calls them.
            case nil: return 0
            }
        }
        if rest.isEmpty, let end {
            if let reason = end.reason { throw reason }
            return 0
        }
        let taken = rest.prefix(buffer.count)
        block.withUnsafeBytes {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[taken]))
        }
        rest = taken.upperBound..<rest.upperBound
        if rest.isEmpty {
            let done = block
            block = []
            _ = empty.put(done)
        }
        return taken.count
    }

    private func start() {
        for _ in 0..<blocks { _ = empty.put([UInt8](repeating: 0, count: blockSize)) }
        let (empty, filled) = (empty, filled)
        // Safe: from here on, only the thread uses the source, unless there is no thread.
        nonisolated(unsafe) let source = source
        do throws(SystemError) {
            thread = try JoinedThread {
                while var block = empty.take() {
                    do throws(ByteSourceBreak) {
                        let count = try block.withUnsafeMutableBufferPointer {
                            bytes throws(ByteSourceBreak) in
                            try source.read(into: UnsafeMutableRawBufferPointer(bytes))
                        }
                        if count > 0 {
                            _ = filled.put(.block(block, count: count))
                            continue
                        }
                        _ = filled.put(.end(End(attachments: source.attachments)))
                    } catch {
                        _ = filled.put(.end(End(reason: error, attachments: source.attachments)))
                    }
                    return
                }
            }
        } catch {
            // Without a thread, the source is read directly.
        }
    }
}
