import Glibc

/// Reads, writes and removes real files.
enum SampleFiles {
    /// The reason that a file could not be read or written.
    struct Trouble: Error {
        var path: String
        var code: Int32
    }

    /// Returns all bytes of a file.
    static func read(_ path: String) throws -> [UInt8] {
        guard let file = fopen(path, "rb") else { throw Trouble(path: path, code: errno) }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 {
            bytes += buffer[..<count]
        }
        return bytes
    }

    /// Writes these bytes to a file.
    static func write(_ path: String, _ bytes: [UInt8]) throws {
        guard let file = fopen(path, "wb") else { throw Trouble(path: path, code: errno) }
        let written = fwrite(bytes, 1, bytes.count, file)
        guard fclose(file) == 0, written == bytes.count else {
            throw Trouble(path: path, code: errno)
        }
    }

    /// Calls `body` with a new, empty folder, and then removes it with its contents.
    static func withFolder(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/clarity-host-tests-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Trouble(path: "/tmp", code: errno) }
        let path = String(
            decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { removeTree(path) }
        try body(path)
    }

    private static func removeTree(_ path: String) {
        // Tries to remove a file first: a symbolic link is removed and not followed.
        if unlink(path) == 0 { return }
        if let folder = opendir(path) {
            while let entry = readdir(folder) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if name != ".", name != ".." { removeTree("\(path)/\(name)") }
            }
            closedir(folder)
        }
        rmdir(path)
    }
}
