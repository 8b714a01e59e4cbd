import Platform
@preconcurrency import Glibc
import Synchronization

/// The folder into which the receiver puts pushes, each as a file of its own.
///
/// A push is written under a name that begins with a dot, synced, and renamed to the digest of its
/// content. So readers see only whole pushes, and a push that comes again is the same file.
final class PushSpool: Sendable {
    /// Why a push cannot be stored.
    enum Fault: Error, Hashable {
        case tooLarge
        /// The folder, or its disk, has no room.
        case full
        /// Too many pushes arrive at the same time.
        case busy
        /// The system refused, with its `errno`.
        case refused(Int32)

        init(_ code: Int32) {
            self = [ENOSPC, EDQUOT].contains(code) ? .full : .refused(code)
        }
    }

    /// The most bytes of a push; Health Auto Export's reader takes no longer file.
    static let largestPush: Int64 = 64 << 20
    /// The most bytes and files in the folder. Pushes that the jobs have not read yet wait here.
    static let mostBytes: Int64 = 1 << 30
    static let mostFiles = 10_000
    /// The most pushes that arrive at the same time, and those of one token among them.
    static let mostDrafts = 32
    static let mostOfToken = 4
    /// The most bytes of pushes that arrive at the same time.
    static let mostArriving: Int64 = 512 << 20

    private struct State {
        /// The number of the last draft.
        var last = 0
        /// How many pushes arrive, by the names of their tokens.
        var drafts: [String: Int] = [:]
        /// The bytes in drafts.
        var arriving: Int64 = 0
    }

    /// The folder by its descriptor, so that no link to it is followed again.
    private var path: String { "/proc/self/fd/\(descriptor)" }
    private let folder: FolderDescriptor
    private var descriptor: Int32 { folder.descriptor }
    private let lock: FileLock
    private let state = Mutex(State())
    /// Held while a push gets its name, so that no two take the last place.
    private let keeping = Mutex(())

    /// Opens the folder for one receiver alone, creates it if it is missing, and removes what a
    /// killed receiver left.
    ///
    /// - Parameter beneath: a folder above it, in which accounts have theirs: an account could put
    ///   a link there to another one's folder, and none is followed. Without it, the person who
    ///   names the folder may have made links to it.
    /// - Throws: `BackupError`, or `StateDirectoryError` if the folder is no private one.
    init(path: String, beneath: String?) throws {
        folder = try PushSpool.open(path, beneath: beneath)
        let own = "/proc/self/fd/\(folder.descriptor)"
        guard let lock = try FileLock.take(own, LOCK_EX, patience: .zero) else {
            throw BackupError.unusable(path: path, problem: "another receiver uses it")
        }
        self.lock = lock
        for name in try WholeFile.names(in: own) where PushSpool.isDraft(name) {
            unlinkat(folder.descriptor, name, 0)
        }
    }

    /// Opens the folder, creates what is missing, and gives it mode 0700.
    private static func open(
        _ path: String, beneath: String?
    ) throws(StateDirectoryError) -> FolderDescriptor {
        func failure(_ code: Int32) -> StateDirectoryError {
            StateDirectoryError(path: path, errno: code)
        }
        let shared = beneath ?? path
        guard StateDirectory.makeFolders(shared) else { throw failure(errno) }
        let names = FolderDescriptor.names(path)
            .dropFirst(FolderDescriptor.names(shared).count)
        var reached = shared
        var folder: FolderDescriptor
        do throws(FolderDescriptor.Fault) {
            folder = try FolderDescriptor(shared, for: names.isEmpty ? .listing : .passing)
            for (index, name) in names.enumerated() {
                reached += "/\(name)"
                folder = try FolderDescriptor(
                    name, below: folder, for: index == names.count - 1 ? .listing : .passing,
                    makes: true)
            }
        } catch .refused(let code) {
            throw failure(code)
        } catch {
            throw StateDirectoryError(
                path: path,
                problem:
                    "`\(reached)` is a symbolic link, and none is followed in an account's folder")
        }
        var status = stat()
        guard fstat(folder.descriptor, &status) == 0 else { throw failure(errno) }
        guard status.st_uid == geteuid() else {
            throw StateDirectoryError(path: path, problem: "it belongs to another user")
        }
        guard status.st_mode & 0o077 == 0 || fchmod(folder.descriptor, 0o700) == 0 else {
            throw failure(errno)
        }
        return folder
    }

    private static func isDraft(_ name: String) -> Bool {
        name.hasPrefix(".push-") && name.hasSuffix(".part")
    }

    /// Begins to store a push.
    ///
    /// - Parameters:
    ///   - length: its bytes, if they are known.
    ///   - token: the name of its token.
    func begin(length: Int64?, of token: String) throws(Fault) -> Draft {
        let length = length ?? 0
        guard length <= PushSpool.largestPush else { throw .tooLarge }
        let number = try state.withLock { state throws(Fault) in
            guard state.drafts.values.reduce(0, +) < PushSpool.mostDrafts,
                state.drafts[token] ?? 0 < PushSpool.mostOfToken,
                state.arriving + length <= PushSpool.mostArriving
            else { throw .busy }
            state.last += 1
            return state.last
        }
        let name = ".push-\(number).part"
        let file = openat(
            descriptor, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Fault(errno) }
        state.withLock { $0.drafts[token, default: 0] += 1 }
        return Draft(self, token, name, file)
    }

    /// Checks that the folder has room for a file, by those that jobs have not read yet.
    private func checkRoom(for bytes: Int64) throws(Fault) {
        let names: [String]
        do throws(WholeFile.Fault) {
            names = try WholeFile.names(in: path).filter { !PushSpool.isDraft($0) }
        } catch .refused(let code) {
            throw Fault(code)
        } catch {
            throw .full
        }
        var stored: Int64 = 0
        for name in names {
            var status = stat()
            if fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 {
                stored += Int64(status.st_size)
            }
        }
        guard names.count < PushSpool.mostFiles, stored + bytes <= PushSpool.mostBytes else {
            throw .full
        }
    }

    /// A push that arrives; ends with its last reference at the latest.
    final class Draft: Sendable {
        private let spool: PushSpool
        private let token: String
        private let name: String
        private let file: Int32
        private let size = Atomic<Int64>(0)
        private let isOver = Atomic(false)

        /// The bytes that have arrived.
        var count: Int64 { size.load(ordering: .relaxed) }

        fileprivate init(_ spool: PushSpool, _ token: String, _ name: String, _ file: Int32) {
            (self.spool, self.token, self.name, self.file) = (spool, token, name, file)
        }

        deinit { end() }

        /// Removes the push unless it was kept, and gives its place back.
        func end() {
            guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return }
            close(file)
            // After a rename, nothing has this name.
            unlinkat(spool.descriptor, name, 0)
            spool.state.withLock { state in
                let left = (state.drafts[token] ?? 1) - 1
                state.drafts[token] = left == 0 ? nil : left
                state.arriving -= count
            }
        }

        /// Appends a part, on one thread at a time.
        func append(_ bytes: UnsafeRawBufferPointer) throws(Fault) {
            guard count + Int64(bytes.count) <= PushSpool.largestPush else { throw .tooLarge }
            guard
                spool.state.withLock({
                    $0.arriving + Int64(bytes.count) <= PushSpool.mostArriving
                })
            else { throw .busy }
            var rest = bytes[...]
            while !rest.isEmpty {
                let written = write(
                    file, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if written < 0, errno == EINTR { continue }
                guard written > 0 else { throw Fault(written == 0 ? ENOSPC : errno) }
                rest = rest.dropFirst(written)
                size.wrappingAdd(Int64(written), ordering: .relaxed)
                spool.state.withLock { $0.arriving += Int64(written) }
            }
        }

        /// Returns what has arrived.
        func bytes() throws(Fault) -> [UInt8] {
            var code: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: Int(count)) { buffer, filled in
                while filled < buffer.count {
                    let room = UnsafeMutableRawBufferPointer(buffer)[filled...]
                    let read = pread(
                        file, UnsafeMutableRawBufferPointer(rebasing: room).baseAddress, room.count,
                        filled)
                    if read < 0, errno == EINTR { continue }
                    guard read > 0 else {
                        code = read == 0 ? EIO : errno
                        return
                    }
                    filled += read
                }
            }
            guard code == 0 else { throw Fault(code) }
            return bytes
        }

        /// Puts the push, whose content is `bytes`, under its final name, durably when this
        /// returns.
        func keep(_ bytes: [UInt8]) throws(Fault) {
            let digest = contentDigest(bytes)
            try spool.keeping.withLock { _ throws(Fault) in
                try spool.checkRoom(for: count)
                guard fsync(file) == 0,
                    renameat(spool.descriptor, name, spool.descriptor, "\(digest).json") == 0,
                    fsync(spool.descriptor) == 0
                else { throw Fault(errno) }
            }
        }
    }
}
