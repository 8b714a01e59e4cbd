import Glibc

/// A folder that lives as long as its owner.
public final class TemporaryFolder: Sendable {
    public let path: String

    /// Creates an empty folder that only this user can open.
    ///
    /// - Parameter isInMemory: whether the folder is in memory if the machine has room for that,
    ///   for a test whose many commits need not wait for a disk.
    public init(isInMemory: Bool = false) throws {
        let place = isInMemory && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        var template = Array("\(place)/clarity-jobs-test.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Errno(code: errno) }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit { TemporaryFolder.remove(path) }

    /// A failed call of the C library.
    public struct Errno: Error, CustomStringConvertible {
        public var code: Int32
        public var description: String { String(cString: strerror(code)) }

        /// Creates the failure for a value of `errno`.
        public init(code: Int32) { self.code = code }
    }

    /// Returns the names below the folder with each file's bytes. The bytes of a folder are empty.
    public func contents() throws -> [String: [UInt8]] {
        var contents: [String: [UInt8]] = [:]
        try TemporaryFolder.walk(path, "") { name, isFolder in
            contents[name] = isFolder ? [] : try TemporaryFolder.read("\(path)/\(name)")
        }
        return contents
    }

    /// Returns the bytes of a file.
    public static func read(_ path: String) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Errno(code: errno) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            guard count >= 0 else { throw Errno(code: errno) }
            if count == 0 { return bytes }
            bytes += chunk[..<count]
        }
    }

    /// Writes a file in the folder and returns its path.
    @discardableResult
    public func write(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
        let file = "\(path)/\(name)"
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Errno(code: errno) }
        defer { close(descriptor) }
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw Errno(code: errno) }
            rest = rest.dropFirst(count)
        }
        return file
    }

    private static func walk(
        _ root: String, _ prefix: String, _ visit: (String, Bool) throws -> Void
    ) throws {
        guard let listing = opendir("\(root)/\(prefix)") else { throw Errno(code: errno) }
        defer { closedir(listing) }
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name != ".", name != ".." else { continue }
            let path = prefix.isEmpty ? name : "\(prefix)/\(name)"
            let isFolder = entry.pointee.d_type == UInt8(DT_DIR)
            try visit(path, isFolder)
            if isFolder { try walk(root, path, visit) }
        }
    }

    /// Removes what it can. A leftover in /tmp is no reason to fail a test.
    private static func remove(_ path: String) {
        guard let listing = opendir(path) else { return }
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name != ".", name != ".." else { continue }
            if entry.pointee.d_type == UInt8(DT_DIR) {
                remove("\(path)/\(name)")
            } else {
                unlink("\(path)/\(name)")
            }
        }
        closedir(listing)
        rmdir(path)
    }
}
