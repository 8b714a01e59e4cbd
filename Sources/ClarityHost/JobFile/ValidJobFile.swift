public import Platform
@preconcurrency import Glibc
import SwiftOverlayShims
import ClarityScheduler

/// The job file as it was when a scheduler last found it valid, in the state directory.
///
/// While the job file has a fault that concerns all of it, a running loop keeps its jobs, nothing
/// else starts one, and commands that only show something work with this one.
public struct ValidJobFile {
    private let folder: String
    /// Where the copy is.
    public var path: String { "\(folder)/jobs.valid" }

    /// Creates an access to the copy in a state directory.
    public init(inState directory: String) { folder = directory }

    /// Copies the job file, unless the copy is as new. A pipe is no file that anybody could edit, and
    /// a file that has a fault by now is left to its next reader.
    public func keep(_ jobFile: String, _ reader: JobFileReader) throws(BackupError) {
        var status = stat()
        guard access(folder, W_OK) == 0, stat(jobFile, &status) == 0,
            status.st_mode & S_IFMT == S_IFREG,
            differs(from: status)
        else { return }
        var reader = reader
        reader.skipsAccountFiles = true
        reader.holdsFaulty = true
        let bytes: [UInt8]
        do throws(JobFileFaults) {
            bytes = try reader.bytes(of: jobFile)
            _ = try reader.read(bytes, path: jobFile)
        } catch {
            return
        }
        let text = String(decoding: bytes, as: UTF8.self)
        // Thirty calls of cron may find the same edit; one of them copies it.
        guard let lock = try ValidJobFile.lock(folder) else { return }
        defer { withExtendedLifetime(lock) {} }
        try DurableFile.replace(path, by: "\(ValidJobFile.mark(jobFile))\n\(text)")
        // By this the next scheduler sees that there is nothing to copy.
        guard utimensat(AT_FDCWD, path, [status.st_mtim, status.st_mtim], 0) == 0 else {
            throw .file(path: path, errno: errno)
        }
    }

    /// Returns the jobs of a job file as they were last valid; `nil` if no scheduler has used it with
    /// this state directory.
    public func read(_ jobFile: String, _ reader: JobFileReader) throws(BackupError) -> JobFile? {
        let mark = "\(ValidJobFile.mark(jobFile))\n"
        guard let text = try DurableFile.text(of: path, atMost: 2 << 20), text.hasPrefix(mark)
        else {
            return nil
        }
        var reader = reader
        reader.holdsFaulty = true
        do throws(JobFileFaults) {
            // Its faults have the places that they had in the job file.
            return try reader.read(Array(text.utf8.dropFirst(mark.utf8.count)), path: jobFile)
        } catch {
            // Its accounts have changed, or this version knows fewer keys.
            return nil
        }
    }

    /// Locks the folder of schedulers' locks, which nobody else locks; `nil` if another process has.
    private static func lock(_ folder: String) throws(BackupError) -> FileLock? {
        do throws(SystemError) {
            return try FileLock.take("\(folder)/owners", LOCK_EX, patience: .zero)
        } catch {
            guard error.code != ENOENT else { return nil }
            throw .file(path: folder, errno: error.code)
        }
    }

    private func differs(from jobFile: stat) -> Bool {
        var own = stat()
        guard stat(path, &own) == 0 else { return true }
        return own.st_mtim.tv_sec != jobFile.st_mtim.tv_sec
            || own.st_mtim.tv_nsec != jobFile.st_mtim.tv_nsec
    }

    private static func mark(_ jobFile: String) -> String { "# The valid text of \(jobFile)" }
}

// A fault of a job's own declaration holds that job, and a fault of an account's declaration holds
// that account; the rest of the file goes on as if they were disabled.

extension JobFile {
    /// Returns the file with each job and account held that has one of the faults; `nil` if one of
    /// them concerns more, such as `defaults`, an id, or what accounts must not share.
    ///
    /// - Parameters:
    ///   - faults: in order of position, each with its path in `root`.
    ///   - path: the file's path, for the texts.
    func holding(_ faults: [JobFileFault], of root: YAMLNode, _ path: String) -> JobFile? {
        var jobs: [JobID: String] = [:]
        var owners: [AccountID: String] = [:]
        for fault in faults {
            // Whoever may write one of the files could have it run anything.
            guard fault.writer == nil else { return nil }
            let text = fault.text(path: path).replacing("\nhelp: ", with: "; ")
            if let id = JobFile.job(with: fault, in: root) {
                jobs[id] = jobs[id] ?? text
            } else if accounts != nil, let id = JobFile.account(with: fault, in: root) {
                owners[id] = owners[id] ?? text
            } else {
                return nil
            }
        }
        var file = self
        file.heldFaults = faults.map { $0.text(path: path) }
        // More may differ than the accounts that were read again.
        file.lineage = Lineage()
        file.held = jobs
        file.jobs = JobFile.holding(jobs, among: file.jobs, &file.disabled, root)
        // A section implies a job of the same name.
        guard Set(file.jobs.map(\.id)).count == file.jobs.count else { return nil }
        file.accounts = accounts.map { accounts in
            let known = accounts.map { account in
                var account = account
                account.fault = owners[account.id]
                account.isEnabled = account.isEnabled && account.fault == nil
                account.jobs = JobFile.holding(jobs, among: account.jobs, &account.disabled, root)
                return account
            }
            let unread = owners.keys.filter { id in !accounts.contains { $0.id == id } }
            return known
                + unread.sorted().map { id in
                    var account = AccountDeclaration(id: id)
                    (account.fault, account.isEnabled) = (owners[id], false)
                    return account
                }
        }
        return file
    }

    /// Puts a sentence in the place of each fault, for a reader who is to see nothing of the job file.
    public mutating func hideFaults(as sentence: String) {
        held = held.mapValues { _ in sentence }
        heldFaults = heldFaults.map { _ in sentence }
        accounts = accounts?.map { account in
            var account = account
            account.fault = account.fault.map { _ in sentence }
            return account
        }
    }

    /// Returns the job whose own declaration has a fault; `nil` if its id does not say which job that
    /// is.
    private static func job(with fault: JobFileFault, in root: YAMLNode) -> JobID? {
        fault.file == nil ? id(inEntryOf: "jobs", with: fault, root).flatMap { JobID($0) } : nil
    }

    /// The same for an account, which may have a file of its own.
    private static func account(with fault: JobFileFault, in root: YAMLNode) -> AccountID? {
        if let name = fault.file?.split(separator: "/").last {
            return AccountID(name.dropLast(AccountFolder.ending.count))
        }
        return id(inEntryOf: "accounts", with: fault, root).flatMap { AccountID($0) }
    }

    /// Returns the id of the entry of a list in which a fault is; `nil` if another entry has it too.
    private static func id(
        inEntryOf list: String, with fault: JobFileFault, _ root: YAMLNode
    ) -> String? {
        guard case .sequence(let nodes)? = root[list]?.content,
            let match = fault.path?.prefixMatch(of: /(\w+)\[(\d+)\]/), match.output.1 == list,
            let number = Int(match.output.2), nodes.indices.contains(number)
        else { return nil }
        let ids = nodes.map { $0["id"]?.text }
        return ids.filter { $0 == ids[number] }.count == 1 ? ids[number] : nil
    }

    /// Returns the jobs in the order of the file, with a place for each held one, even if nothing but
    /// its id could be read.
    private static func holding(
        _ held: [JobID: String], among jobs: [Job], _ disabled: inout Set<JobID>, _ root: YAMLNode
    ) -> [Job] {
        disabled.formUnion(held.keys)
        guard case .sequence(let nodes)? = root["jobs"]?.content else { return jobs }
        let written = nodes.compactMap { node -> Job? in
            guard let id = node["id"]?.text.flatMap({ JobID($0) }) else { return nil }
            return jobs.first { $0.id == id }
                ?? Job(id: id, kind: JobKind(node["kind"]?.text ?? ""))
        }
        // A section may imply jobs that nobody wrote.
        return written + jobs.filter { job in !written.contains { $0.id == job.id } }
    }
}
