import Glibc

/// A tree of small text files that the kernel shows: `/` itself, or a captured one.
struct HostTree: Sendable {
    /// Why a file gives no answer, for people: `/sys/class/power_supply/AC/online: not a number`.
    struct Fault: Error, Hashable, Sendable {
        var path: String
        var reason: String
        /// Whether there simply is no such file.
        var isAbsent = false

        var text: String { "\(path): \(reason)" }
    }

    /// The most that is read of one file, in bytes; a router's whole table fits.
    static var largestFile: Int { 4 << 20 }

    private let root: String

    init(root: String) {
        self.root = root == "/" ? "" : root
    }

    /// The text of a file, without white space at both ends.
    func text(_ path: String) throws(Fault) -> String {
        let bytes = try bytes(path)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Fault(path: path, reason: "not text")
        }
        let content = text.utf8.drop { $0 == 0x20 || $0 == 0x0A }
        guard let last = content.lastIndex(where: { $0 != 0x20 && $0 != 0x0A }) else { return "" }
        return String(text[content.startIndex...last])
    }

    /// The text of a file, `nil` when there is no such file.
    func textIfPresent(_ path: String) throws(Fault) -> String? {
        do {
            return try text(path)
        } catch {
            if error.isAbsent { return nil }
            throw error
        }
    }

    /// The text of a file, with `\u{FFFD}` for bytes that are none; `nil` when there is no such file.
    ///
    /// For tables in which strangers may have a line, as who mounts something has.
    func lossyTextIfPresent(_ path: String) throws(Fault) -> String? {
        do {
            return String(decoding: try bytes(path), as: UTF8.self)
        } catch {
            if error.isAbsent { return nil }
            throw error
        }
    }

    /// A whole number of 0 to 10^15, `nil` when there is no such file.
    func countIfPresent(_ path: String) throws(Fault) -> Int64? {
        guard let text = try textIfPresent(path) else { return nil }
        guard let count = Int64(text), (0...1_000_000_000_000_000).contains(count) else {
            throw Fault(path: path, reason: "not a number")
        }
        return count
    }

    /// The names in a folder, sorted.
    func names(in path: String) throws(Fault) -> [String] {
        guard let folder = opendir(root + path) else { throw fault(path, errno) }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { field in
                field.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    func exists(_ path: String) -> Bool {
        access(root + path, F_OK) == 0
    }

    /// The last part of what a symbolic link points to; `nil` when there is no such link.
    func linkName(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(root + path, &buffer, buffer.count)
        guard count > 0 else { return nil }
        let target = String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
        return target.split(separator: "/").last.map { String($0) }
    }

    private func bytes(_ path: String) throws(Fault) -> [UInt8] {
        // Not blocking: a named pipe in a file's place must not stop the scheduler.
        let file = open(root + path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw fault(path, errno) }
        defer { close(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = read(file, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count < 0 {
                if errno == EINTR { continue }
                throw fault(path, errno)
            }
            bytes += chunk[..<count]
            guard bytes.count <= HostTree.largestFile else {
                throw Fault(path: path, reason: "more than \(HostTree.largestFile) bytes")
            }
        }
    }

    private func fault(_ path: String, _ code: Int32) -> Fault {
        Fault(
            path: path, reason: String(cString: strerror(code)),
            isAbsent: code == ENOENT || code == ENOTDIR)
    }
}
