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

    /// An account's file.
    struct File {
        var name: String
        /// Taken before the file was read; `nil` if nobody remembers it.
        var stamp: FileStamp?
        var content: Content
    }

    enum Content {
        /// The file is as it was when it was read.
        case known(AccountDeclaration)
        case read(DeclaredAccount.Listed)
    }

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

    /// Reads the files that are not remembered, and reports the faults of every one.
    ///
    /// - Parameter position: where the job file names the folder.
    /// - Returns: the accounts by id.
    func files(named position: YAMLNode.Position, _ decoding: inout Decoding) -> [File] {
        do throws(JobFileFault) {
            try writers?.checkWay(to: path)
        } catch {
            decoding.report([error.at(position)])
            return []
        }
        guard let names = AccountFolder.names(in: path) else {
            decoding.report(
                position,
                "cannot read the folder of accounts \(shown(path)): "
                    + SystemError().reason)
            return []
        }
        guard names.count <= AccountFolder.mostAccounts else {
            decoding.report(
                position,
                "the folder of accounts \(shown(path)) has \(names.count) files, wanted at most "
                    + "\(AccountFolder.mostAccounts)")
            return []
        }
        var files: [File] = []
        files.reserveCapacity(names.count)
        for (index, name) in names.enumerated() {
            let stamp = memory == nil ? nil : FileStamp(of: "\(path)/\(name)")
            if let stamp, let account = memory?.account(of: name, stamp) {
                files.append(File(name: name, stamp: stamp, content: .known(account)))
                continue
            }
            let number = index + 1
            decoding.files[number] = "\(path)/\(name)"
            if let account = account(name, number, &decoding) {
                files.append(File(name: name, stamp: stamp, content: .read(account)))
            }
        }
        return files
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
    private struct State {
        /// The job file of which the accounts are.
        var jobFile: [UInt8] = []
        var accounts: [String: (stamp: FileStamp, account: AccountDeclaration)] = [:]
    }

    private let state = Mutex(State())
    private let settlingTime: Int64

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
    var isEmpty: Bool { state.withLock { $0.accounts.isEmpty } }

    /// Returns the account of a file that is as it was when it was read.
    func account(of name: String, _ stamp: FileStamp) -> AccountDeclaration? {
        state.withLock { state in
            state.accounts[name].flatMap { $0.stamp == stamp ? $0.account : nil }
        }
    }

    /// Replaces what is known.
    func remember(_ accounts: [(name: String, stamp: FileStamp, account: AccountDeclaration)]) {
        state.withLock { state in
            state.accounts = [:]
            state.accounts.reserveCapacity(accounts.count)
            for (name, stamp, account) in accounts where stamp.age > settlingTime {
                state.accounts[name] = (stamp, account)
            }
        }
    }
}

/// What tells that a file has not changed since it was looked at.
public struct FileStamp: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int
    private let changedNanoseconds: Int64

    /// The nanoseconds after a change from which on another one is sure to get another time: the
    /// kernel's clock of changes ticks every few milliseconds.
    public static let settlingTime: Int64 = 100_000_000

    /// Returns `nil` if there is no such file.
    init?(of path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int(status.st_size)
        changedNanoseconds =
            Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
    }

    /// The nanoseconds since the last change.
    var age: Int64 { age(at: FileStamp.now) }

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
