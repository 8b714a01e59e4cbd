import Glibc
@testable import ProgramTestSupport
import Testing

/// The resources that a running process and its state directory use at one moment.
struct Vitals {
    /// The memory that is not backed by a file, in KiB (`RssAnon` of proc(5)).
    let memoryKiB: Int
    let descriptors: Int
    let threads: Int
    /// The size of the write-ahead logs of all databases, in bytes.
    let logBytes: Int
    /// The size of the databases themselves, in bytes.
    let fileBytes: Int
    /// The number of files in the state directory, folders included.
    let files: Int

    /// Measures a process and a folder.
    ///
    /// - Throws: the failed expectation if the process is gone.
    init(of process: Int32, statePath: String) throws {
        let status = ProcessTable.text("/proc/\(process)/status")
        func number(_ key: String) throws -> Int {
            let line = try #require(
                status.split(separator: "\n").first { $0.hasPrefix("\(key):") },
                "process \(process) is gone")
            return try #require(Int(line.split(whereSeparator: \.isWhitespace)[1]))
        }
        memoryKiB = try number("RssAnon")
        threads = try number("Threads")
        descriptors = ProcessTable.names(in: "/proc/\(process)/fd").count
        var sizes: [String: Int] = [:]
        Vitals.walk(statePath) { sizes[$0] = $1 }
        files = sizes.count
        logBytes = sizes.filter { $0.key.hasSuffix("-wal") }.values.reduce(0, +)
        fileBytes = sizes.filter { $0.key.hasSuffix(".db") }.values.reduce(0, +)
    }

    private static func walk(_ folder: String, _ visit: (String, Int) -> Void) {
        guard let listing = opendir(folder) else { return }
        defer { closedir(listing) }
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name != ".", name != ".." else { continue }
            let path = "\(folder)/\(name)"
            var attributes = stat()
            // A file that was removed in the meantime takes no space.
            guard lstat(path, &attributes) == 0 else { continue }
            visit(path, Int(attributes.st_size))
            if entry.pointee.d_type == UInt8(DT_DIR) { walk(path, visit) }
        }
    }
}
