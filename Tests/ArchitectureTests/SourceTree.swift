import ClarityTestSupport
import Glibc

/// Reads the Swift files below a folder.
enum SourceTree {
    static func files(below root: String) throws -> [SourceFile] {
        try paths(root, "").filter { $0.hasSuffix(".swift") }.sorted().map { path in
            let bytes = try TemporaryFolder.read("\(root)/\(path)")
            return SourceFile(path: path, text: String(decoding: bytes, as: UTF8.self))
        }
    }

    private static func paths(_ root: String, _ prefix: String) throws -> [String] {
        guard let listing = opendir("\(root)/\(prefix)") else {
            throw TemporaryFolder.Errno(code: errno)
        }
        defer { closedir(listing) }
        var paths: [String] = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard !name.hasPrefix(".") else { continue }
            let path = prefix.isEmpty ? name : "\(prefix)/\(name)"
            if entry.pointee.d_type == UInt8(DT_DIR) {
                paths += try self.paths(root, path)
            } else {
                paths.append(path)
            }
        }
        return paths
    }
}
