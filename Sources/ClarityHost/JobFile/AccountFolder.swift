import ClarityScheduler
import Platform
@preconcurrency import Glibc
import Synchronization

/// A folder with a file for each account: `anna.yaml` declares the account `anna`.
///
/// Files may come and go at any time. Names that do not end in `.yaml`, and hidden ones, are left
/// alone, so that an editor's copy declares nothing.
struct AccountFolder {
    private let path: String
    private let schema: MappingSchema<DeclaredAccount>
    private let memory: AccountMemory?
    private let writers: WriterCheck?

    /// The maximum number of accounts in a folder.
    static let mostAccounts = 100_000
    static let ending = ".yaml"

    init(
        _ path: String, _ schema: MappingSchema<DeclaredAccount>, memory: AccountMemory?,
        writers: WriterCheck?
    ) {
        self.path = path
        self.schema = schema
        self.memory = memory
        self.writers = writers
    }

    /// Reads the files that are not as they were when they were last read, and reports the faults of
    /// every one of them.
    ///
    /// - Parameter position: where the job file names the folder.
    /// - Returns: the accounts that could be read, by the names of their files. Those that are as
    ///   they were are taken over.
    func accounts(
        named position: YAMLNode.Position, _ assembly: inout AccountAssembly,
        _ decoding: inout Decoding
    ) -> DeclaredAccounts.Reading {
        guard let names = names(named: position, &decoding) else {
            return DeclaredAccounts.Reading()
        }
        let known = memory?.take() ?? AccountMemory.Files()
        var files = AccountMemory.Files(capacity: names.count)
        assembly.variants = known.variants
        var change = AccountChange()
        let beginning = FileStamp.now
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { if folder >= 0 { close(folder) } }
        var place = 0
        for (index, name) in names.enumerated() {
            // Both lists of names ascend.
            while place < known.names.count, known.names[place] < name {
                change.remove(known.accounts[place])
                place += 1
            }
            let isKnown = place < known.names.count && known.names[place] == name
            defer { if isKnown { place += 1 } }
            let former = isKnown ? known.accounts[place] : nil
            let stamp = memory == nil ? nil : FileStamp(of: name, in: folder)
            if let former, let stamp, known.stamps[place] == stamp, isSafe(name, stamp) {
                files.append(name, stamp, former)
                continue
            }
            files.countRead += 1
            let number = index + 1
            decoding.files[number] = "\(path)/\(name)"
            let listed = account(name, number, &decoding)
            let account = listed.flatMap { assembly.declaration(of: $0, &decoding) }
            if let listed, let account {
                change.put(account, listed, at: files.names.count, after: former)
                let settled = stamp.flatMap { stamp in
                    memory.map { stamp.age(at: beginning) > $0.settlingTime } == true ? stamp : nil
                }
                files.append(name, settled, account)
            } else if let former {
                change.remove(former)
            }
        }
        known.accounts[place...].forEach { change.remove($0) }
        // Some of them may belong to accounts that have changed since.
        let areFew = assembly.variants.count <= max(64, files.names.count)
        files.variants = areFew ? assembly.variants : [:]
        (files.shared, files.lineage) = (known.shared, known.lineage)
        if !change.apply(to: &files, assembly) {
            assembly.reportShared(
                files.accounts.enumerated().map { (change.listed[$0], $1) }, &decoding)
        }
        let reading = DeclaredAccounts.Reading(
            all: files.accounts, names: files.shared, lineage: files.lineage)
        memory?.remember(files)
        return reading
    }

    /// Whether nobody else may write the way to a file, if it is a link; that to the folder is
    /// checked before.
    private func isSafe(_ name: String, _ stamp: FileStamp) -> Bool {
        guard stamp.isLink, let writers else { return true }
        do throws(JobFileFault) {
            try writers.checkLink("\(path)/\(name)")
            return true
        } catch {
            // The file is read again, which reports it.
            return false
        }
    }

    /// Returns the names of the files in ascending order; `nil` if there is a fault.
    private func names(
        named position: YAMLNode.Position, _ decoding: inout Decoding
    ) -> [String]? {
        do throws(JobFileFault) {
            try writers?.checkWay(to: path)
        } catch {
            decoding.report([error.at(position)])
            return nil
        }
        guard let names = AccountFolder.names(in: path) else {
            decoding.report(
                position,
                "cannot read the folder of accounts \(shown(path)): "
                    + SystemError().reason)
            return nil
        }
        guard names.count <= AccountFolder.mostAccounts else {
            decoding.report(
                position,
                "the folder of accounts \(shown(path)) has \(names.count) files, wanted at most "
                    + "\(AccountFolder.mostAccounts)")
            return nil
        }
        return names
    }

    private func account(
        _ name: String, _ number: Int, _ decoding: inout Decoding
    ) -> DeclaredAccount.Listed? {
        let start = YAMLNode.Position(line: 0, column: 0, file: number)
        guard let id = AccountID(name.dropLast(AccountFolder.ending.count)) else {
            decoding.report(
                start, "the file's name is not an account's id followed by `.yaml`",
                help: AccountID.rule)
            return nil
        }
        var text: [UInt8]?
        do throws(JobFileFault) {
            try writers?.checkLink("\(path)/\(name)")
            let bytes = try BoundedFile.read("\(path)/\(name)", writers, isOrdinary: true)
            text = bytes
            // An account may declare nothing but its name.
            guard bytes.contains(where: { $0 > 0x20 }) else {
                let empty = YAMLNode(position: start, content: .mapping([]))
                return DeclaredAccount.listed(schema, empty, of: .file, named: id, &decoding)
            }
            let document = try YAMLParser.parse(bytes, file: number)
            decoding.report(document.duplicateKeys.map { $0.of(decoding.files[number]) })
            return DeclaredAccount.listed(
                schema, document.root, of: .account(id.rawValue), named: id, &decoding)
        } catch {
            // An account may go between the list of the folder and the reading of its file.
            var status = stat()
            if lstat("\(path)/\(name)", &status) != 0, errno == ENOENT { return nil }
            decoding.report([error.of(decoding.files[number])])
            if let text {
                decoding.suspect(String(decoding: text, as: UTF8.self))
            } else {
                decoding.unreadFiles.insert("\(path)/\(name)")
            }
            return nil
        }
    }

    /// Returns the names of the accounts' files in ascending order; `nil`, with the reason in
    /// `errno`, if the folder cannot be read.
    static func names(in path: String) -> [String]? {
        WholeFile.readableNames(in: path)?.filter { $0.hasSuffix(ending) && !$0.hasPrefix(".") }
    }
}

extension JobFileFault {
    /// Returns the fault as one of a place in the job file.
    fileprivate func at(_ position: YAMLNode.Position) -> JobFileFault {
        var fault = JobFileFault(position, message, help: help)
        fault.writer = writer
        return fault
    }

    /// Returns the fault as one of an account's file.
    fileprivate func of(_ file: String?) -> JobFileFault {
        var fault = self
        fault.file = file
        return fault
    }
}

/// Remembers the accounts of a folder, so that after a change of one file only that file is read.
///
/// It forgets everything when the job file is another, and whenever there is a fault, so that a
/// report is always that of a whole reading.
public final class AccountMemory: Sendable {
    /// The accounts as they were last read, in the order of their files' names.
    struct Files {
        private(set) var names: [String] = []
        /// `nil` for a file that has to be read again.
        private(set) var stamps: [FileStamp?] = []
        private(set) var accounts: [AccountDeclaration] = []
        /// The jobs as read for each set of changes (`AccountAssembly.variants`).
        var variants: [String: AccountAssembly.Jobs] = [:]
        var shared = AccountNames()
        var lineage = Lineage<[Int]>()
        /// How many files were read, and not taken over.
        var countRead = 0

        /// Creates an empty list.
        init(capacity: Int = 0) {
            names.reserveCapacity(capacity)
            stamps.reserveCapacity(capacity)
            accounts.reserveCapacity(capacity)
        }

        mutating func append(_ name: String, _ stamp: FileStamp?, _ account: AccountDeclaration) {
            names.append(name)
            stamps.append(stamp)
            accounts.append(account)
        }
    }

    private struct State {
        /// The job file of which the accounts are.
        var jobFile: [UInt8] = []
        var files = Files()
    }

    private let state = Mutex(State())
    let settlingTime: Int64

    /// Creates a memory that knows nothing.
    ///
    /// - Parameter settlingTime: the nanoseconds after its last change from which on a file is
    ///   remembered.
    public init(settlingTime: Int64 = FileStamp.settlingTime) { self.settlingTime = settlingTime }

    /// Forgets all accounts.
    public func forget() { state.withLock { $0 = State() } }

    /// Forgets the accounts of another job file.
    func begin(_ jobFile: [UInt8]) {
        state.withLock { state in
            if state.jobFile != jobFile { state = State(jobFile: jobFile) }
        }
    }

    /// Whether any account is known.
    var isEmpty: Bool { state.withLock { $0.files.names.isEmpty } }

    /// How many files were read the last time.
    var countRead: Int { state.withLock { $0.files.countRead } }

    /// Returns what is known, and forgets it until `remember`.
    func take() -> Files {
        state.withLock { state in
            defer { state.files = Files() }
            return state.files
        }
    }

    func remember(_ files: Files) { state.withLock { $0.files = files } }
}

/// What differs between two readings of a folder.
private struct AccountChange {
    /// The accounts that are gone or replaced, and those that came or replace them.
    private var gone: [AccountDeclaration] = []
    private var come: [AccountDeclaration] = []
    /// The indices of the accounts that were replaced.
    private var replaced: [Int] = []
    /// The accounts that came, as written, by their indices.
    private(set) var listed: [Int: DeclaredAccount.Listed] = [:]

    mutating func remove(_ account: AccountDeclaration) { gone.append(account) }

    /// Notes an account that was read, and what it replaces.
    mutating func put(
        _ account: AccountDeclaration, _ written: DeclaredAccount.Listed, at index: Int,
        after former: AccountDeclaration?
    ) {
        guard account != former else { return }
        listed[index] = written
        come.append(account)
        guard let former else { return }
        gone.append(former)
        replaced.append(index)
    }

    /// Changes what the accounts are compared by; returns whether they share nothing that they must
    /// not.
    func apply(to files: inout AccountMemory.Files, _ assembly: AccountAssembly) -> Bool {
        if gone.count != replaced.count || come.count != replaced.count {
            files.lineage = Lineage()
        } else if !replaced.isEmpty {
            files.lineage = Lineage(of: replaced, after: files.lineage)
        }
        gone.forEach { files.shared.remove(assembly.names(of: $0)) }
        var areApart = true
        for account in come {
            areApart = files.shared.add(assembly.names(of: account)) && areApart
        }
        return areApart
    }
}

/// What tells that a file has not changed since it was looked at.
public struct FileStamp: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int
    private let changedNanoseconds: Int64
    /// Whether the file is reached by a link in the folder for which the stamp was made.
    fileprivate let isLink: Bool

    /// The nanoseconds after a change from which on another one is sure to get another time: the
    /// kernel's clock of changes ticks every few milliseconds.
    public static let settlingTime: Int64 = 100_000_000

    /// Returns `nil` if there is no such file.
    init?(of path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Returns `nil` if an open folder has no such file.
    fileprivate init?(of name: String, in folder: Int32) {
        var status = stat()
        guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        guard status.st_mode & S_IFMT == S_IFLNK else {
            self.init(status)
            return
        }
        guard fstatat(folder, name, &status, 0) == 0 else { return nil }
        self.init(status, isLink: true)
    }

    private init(_ status: stat, isLink: Bool = false) {
        self.isLink = isLink
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int(status.st_size)
        changedNanoseconds =
            Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
    }

    fileprivate func age(at nanoseconds: Int64) -> Int64 { nanoseconds - changedNanoseconds }

    /// The wall clock in nanoseconds since 1970.
    fileprivate static var now: Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    }

    fileprivate func write(to bytes: inout [UInt8]) {
        withUnsafeBytes(of: (device, inode, Int64(size), changedNanoseconds)) { bytes += $0 }
    }
}

/// The stamps of several files, as bytes of which a digest can be kept.
public struct FileStamps: Sendable {
    public private(set) var bytes: [UInt8] = []
    /// Whether each file has been as it is since before this list was created, and for so long that
    /// any change will show. So what was read of them in between belongs to these stamps.
    public private(set) var areSettled = true
    private let beginning = FileStamp.now

    /// Creates an empty list.
    public init() {}

    /// Adds a file, which need not exist.
    public mutating func add(_ path: String) {
        bytes += path.utf8
        bytes.append(0)
        guard let stamp = FileStamp(of: path) else { return }
        stamp.write(to: &bytes)
        if stamp.age(at: beginning) <= FileStamp.settlingTime { areSettled = false }
    }

    /// Adds each account's file in a folder; returns whether it can be read.
    public mutating func addAccounts(in folder: String) -> Bool {
        guard let names = AccountFolder.names(in: folder) else { return false }
        for name in names { add("\(folder)/\(name)") }
        return true
    }
}
