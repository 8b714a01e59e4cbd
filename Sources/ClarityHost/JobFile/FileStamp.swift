@preconcurrency import Glibc

/// What tells that a file has not changed since it was looked at.
public struct FileStamp: Hashable, Sendable {
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
        inode = UInt64(status.st_ino)
        size = Int(status.st_size)
        changedNanoseconds =
            Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
    }

    /// The nanoseconds since the last change.
    var age: Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec) - changedNanoseconds
    }

    fileprivate func write(to bytes: inout [UInt8]) {
        withUnsafeBytes(of: (inode, Int64(size), changedNanoseconds)) { bytes += $0 }
    }
}

/// The stamps of several files, as bytes of which a digest can be kept.
public struct FileStamps: Sendable {
    public private(set) var bytes: [UInt8] = []
    /// Whether each file has been as it is for so long that any change will show.
    public private(set) var areSettled = true

    /// Creates an empty list.
    public init() {}

    /// Adds a file, which need not exist.
    public mutating func add(_ path: String) {
        bytes += path.utf8
        bytes.append(0)
        guard let stamp = FileStamp(of: path) else { return }
        stamp.write(to: &bytes)
        if stamp.age <= FileStamp.settlingTime { areSettled = false }
    }

    /// Adds each account's file in a folder; returns their number, or `nil` if it cannot be read.
    public mutating func addAccounts(in folder: String) -> Int? {
        guard let names = AccountFolder.names(in: folder) else { return nil }
        for name in names { add("\(folder)/\(name)") }
        return names.count
    }
}
