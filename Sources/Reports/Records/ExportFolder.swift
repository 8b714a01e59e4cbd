import CLinux
public import HealthStore
public import ClarityScheduler
import Platform
@preconcurrency import Glibc
import JSON

/// A folder that has the last complete export, and never a part of one.
///
/// An export is written to a hidden folder beside it, which takes its place when it is complete. What
/// a killed export left beside it, the next one removes.
public struct ExportFolder: Sendable {
    /// The file that says what the folder has. A folder without it is not replaced unless it is empty.
    private static let manifest = "export.json"

    private let path: String
    private let parent: String
    private let draft: String
    /// The former export, where the file system cannot exchange two folders.
    private let former: String
    private let canExchange: Bool

    /// - Parameter path: an absolute path; the folder that it is in must exist.
    public init(_ path: String) { self.init(path, canExchange: true) }

    init(_ path: String, canExchange: Bool) {
        // A link stays, and the folder that it leads to is replaced.
        let real = realpath(path, nil)
        defer { free(real) }
        let parts = PlainPath.of(real.map { String(cString: $0) } ?? path).split(separator: "/")
        parent = "/" + parts.dropLast().joined(separator: "/")
        let name = parts.last ?? ""
        self.path = "\(parent)/\(name)"
        draft = "\(parent)/.\(name).clarity-jobs-part"
        former = "\(parent)/.\(name).clarity-jobs-former"
        self.canExchange = canExchange
    }

    /// Writes an export and puts it in place of the last one; after an error, the last one stays.
    ///
    /// - Parameters:
    ///   - types: as of `RecordExport.run`.
    ///   - patient: as of `RecordExport`, and so are `grain` and `zone`.
    ///   - progress: called after each month; what it throws ends the export.
    public func replace(
        _ types: [ArchivedType], of store: HealthStore, as format: ExportDataOptions.Format,
        for patient: FHIRPatient? = nil, by grain: FHIRGrain = .single, in zone: Zone? = nil,
        at now: Instant,
        progress: (RecordExport.Progress) throws(RecordExport.Fault) -> Void
    ) throws(RecordExport.Fault) -> RecordExport.Receipt {
        let lock = try self.lock()
        defer { withExtendedLifetime(lock) {} }
        try tidy()
        try checkIsOwn()
        guard mkdir(draft, 0o700) == 0 else { throw .system(path: draft, code: errno) }
        do throws(RecordExport.Fault) {
            let target = format == .sqlite ? "\(draft)/records.db" : draft
            let export = RecordExport(
                store, as: format, to: target, of: patient, by: grain, in: zone)
            var receipt = try export.run(types, progress: progress)
            // The last export may have what is damaged since.
            guard receipt.damaged.isEmpty else {
                throw .damaged(months: receipt.damaged.count, path: path)
            }
            receipt.path = path
            try writeManifest(of: receipt, format, now)
            try publish()
            return receipt
        } catch {
            remove(draft)
            throw error
        }
    }

    private func lock() throws(RecordExport.Fault) -> FileLock {
        do throws(SystemError) {
            // A program that is just being started holds it for moments after its owner let go.
            let lock = try FileLock.take(parent, LOCK_EX, patience: .milliseconds(250))
            if let lock { return lock }
        } catch {
            throw .system(path: parent, code: error.code)
        }
        throw .busy(path: path)
    }

    /// Ends what a killed export began.
    private func tidy() throws(RecordExport.Fault) {
        if exists(former), !exists(path) { try rename(former, to: path) }
        remove(former)
        remove(draft)
    }

    private func checkIsOwn() throws(RecordExport.Fault) {
        var names: [String] = []
        do throws(WholeFile.Fault) {
            names = try WholeFile.names(in: path)
        } catch .refused(ENOENT) where !exists(path) {
            return
        } catch .refused(let code) {
            throw .system(path: path, code: code)
        } catch {
            throw .notEmpty(path: path)
        }
        guard names.isEmpty || names.contains(ExportFolder.manifest) else {
            throw .notEmpty(path: path)
        }
    }

    private func writeManifest(
        of receipt: RecordExport.Receipt, _ format: ExportDataOptions.Format, _ now: Instant
    ) throws(RecordExport.Fault) {
        let head: JSON = [
            "written_by": "clarity-jobs", "at": .string(now.description),
            "format": .string(format.rawValue),
        ]
        let file = try RecordFile("\(draft)/\(ExportFolder.manifest)")
        try file.write(Array("\(head.adding(receipt.object).page)\n".utf8))
        try file.finish()
    }

    private func publish() throws(RecordExport.Fault) {
        try syncNames(in: draft)
        if !exists(path) {
            try rename(draft, to: path)
        } else if !canExchange || clinux_exchange(draft, path) != 0 {
            guard !canExchange || [EINVAL, ENOSYS, EOPNOTSUPP].contains(errno) else {
                throw .system(path: path, code: errno)
            }
            try rename(path, to: former)
            try rename(draft, to: path)
        }
        try syncNames(in: parent)
        remove(former)
        remove(draft)
    }

    // MARK: Files

    private func exists(_ path: String) -> Bool {
        faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0
    }

    private func rename(_ path: String, to target: String) throws(RecordExport.Fault) {
        guard Glibc.rename(path, target) == 0 else { throw .system(path: target, code: errno) }
    }

    private func syncNames(in folder: String) throws(RecordExport.Fault) {
        do throws(BackupError) {
            try DurableFile.syncNames(in: folder)
        } catch .file(let path, let code) {
            throw .system(path: path, code: code)
        } catch {
            throw .system(path: folder, code: EIO)
        }
    }

    /// Removes a folder of this type's own, if it is there and can be removed. Else the next export
    /// tries again, or says why it cannot write there.
    private func remove(_ folder: String) {
        do throws(BackupError) {
            try DurableFile.removeFolder(folder)
        } catch {
            return
        }
    }
}
