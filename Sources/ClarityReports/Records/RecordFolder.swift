import CLinux
import ClarityJobs
import ClaritySystem
@preconcurrency import Glibc

/// Writes records as lines, a file for each type, into a new or empty folder.
struct RecordFolder<Lines: RecordLines>: RecordTarget {
    private let folder: String
    private var file: RecordFile?
    /// The bytes that were not written yet.
    private var bytes: [UInt8] = []

    init(_ folder: String) throws(RecordExport.Fault) {
        self.folder = folder
        try makeFolder()
    }

    mutating func begin(_ type: ArchivedType) throws(RecordExport.Fault) {
        file = try RecordFile("\(folder)/\(name(of: type))")
        bytes += Lines.heading.utf8
    }

    mutating func append(
        _ segment: Segment, _ type: ArchivedType, _ range: Range<Int64>
    ) throws(RecordExport.Fault) -> Int64 {
        var lines = Lines(segment, type: type.name)
        var count: Int64 = 0
        for record in segment.records where range.contains(record.start) {
            count += 1
            lines.append(record, to: &bytes)
            if bytes.count >= RecordFile.block { try flush() }
        }
        return count
    }

    mutating func end(_ type: ArchivedType) throws(RecordExport.Fault) -> String {
        try flush()
        try file?.finish()
        file = nil
        return name(of: type)
    }

    mutating func finish() {}

    private mutating func flush() throws(RecordExport.Fault) {
        try file?.write(bytes)
        bytes.removeAll(keepingCapacity: true)
    }

    private func name(of type: ArchivedType) -> String {
        Lines.fileName(
            of: type.name.filter { $0.isLetter || $0.isNumber || "_- ".contains($0) })
    }

    private func makeFolder() throws(RecordExport.Fault) {
        if mkdir(folder, 0o700) == 0 { return }
        guard errno == EEXIST else { throw .system(path: folder, code: errno) }
        do throws(WholeFile.Fault) {
            if try WholeFile.names(in: folder).isEmpty { return }
        } catch .refused(let code) {
            throw .system(path: folder, code: code)
        } catch {}
        throw .notEmpty(path: folder)
    }
}

/// A file for its owner alone, which gets its name at the end.
final class RecordFile {
    /// The bytes that are collected before they are written: 256 KiB.
    static let block = 1 << 18

    private let path: String
    private var draft: String { "\(path).part" }
    private let descriptor: Int32

    init(_ path: String) throws(RecordExport.Fault) {
        self.path = path
        let part = "\(path).part"
        descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .system(path: part, code: errno) }
    }

    deinit {
        close(descriptor)
        // Half a file in the clear is of no use to anybody. If it has its name, nothing is there.
        unlink(draft)
    }

    func write(_ bytes: [UInt8]) throws(RecordExport.Fault) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw .system(path: draft, code: errno)
            }
        }
    }

    func finish() throws(RecordExport.Fault) {
        guard fsync(descriptor) == 0 else { throw .system(path: path, code: errno) }
        try RecordFile.rename(draft, to: path)
    }

    /// - Throws: `RecordExport.Fault.exists` if something is at a path, even a link to nothing.
    static func checkIsNew(_ path: String) throws(RecordExport.Fault) {
        guard faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0 else {
            throw .exists(path: path)
        }
    }

    /// Gives a whole file its name. What another program put there in the meantime stays.
    static func rename(_ draft: String, to path: String) throws(RecordExport.Fault) {
        if clinux_rename_to_new(draft, path) == 0 { return }
        switch errno {
        case EEXIST: throw .exists(path: path)
        case EINVAL, ENOSYS:
            // Not every file system can look and rename at once.
            try checkIsNew(path)
            guard Glibc.rename(draft, path) == 0 else { throw .system(path: path, code: errno) }
        default: throw .system(path: path, code: errno)
        }
    }
}
