import Glibc
import Testing

@testable import ClarityHost

/// A folder that stands for `/` of another machine; `deinit` removes it.
final class CapturedTree {
    /// What is at a path.
    enum Entry: ExpressibleByStringLiteral {
        case text(String)
        case bytes([UInt8])
        case folder
        case link(String)

        init(stringLiteral value: String) { self = .text(value) }
    }

    let root: String
    var tree: HostTree { HostTree(root: root) }

    init(_ entries: [String: Entry]) throws {
        var template = Array("/tmp/clarity-tree-XXXXXX".utf8CString)
        let made = try #require(mkdtemp(&template))
        root = String(cString: made)
        for (path, entry) in entries {
            switch entry {
            case .text(let text): write(Array(text.utf8), path)
            case .bytes(let bytes): write(bytes, path)
            case .folder: makeFolder(path)
            case .link(let target):
                makeParent(path)
                #expect(symlink(target, root + path) == 0)
            }
        }
    }

    /// The folder of captured machines, one file each.
    static let captures =
        #filePath.split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/Captures"

    /// Reads a captured machine: `path: text` is a file, `path/` a folder, and `#` begins a
    /// comment.
    convenience init(capture name: String) throws {
        var entries: [String: Entry] = [:]
        let text = try HostTree(root: CapturedTree.captures).text("/\(name).txt")
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            if line.hasSuffix("/") {
                entries[String(line.dropLast())] = .folder
                continue
            }
            // A name may contain a colon, but not one followed by a blank.
            let end = try #require(line.firstRange(of: ": "), "\(name): \(line)").lowerBound
            entries[String(line[..<end])] = .text("\(line[end...].dropFirst(2))\n")
        }
        try self.init(entries)
    }

    deinit { remove(root) }

    private func write(_ bytes: [UInt8], _ path: String) {
        makeParent(path)
        let file = open(root + path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        #expect(file >= 0)
        #expect(Glibc.write(file, bytes, bytes.count) == bytes.count)
        close(file)
    }

    private func makeParent(_ path: String) {
        makeFolder(path.split(separator: "/").dropLast().map { "/" + $0 }.joined())
    }

    private func makeFolder(_ path: String) {
        var folder = root
        for part in path.split(separator: "/") {
            folder += "/" + part
            #expect(mkdir(folder, 0o755) == 0 || errno == EEXIST)
        }
    }

    private func remove(_ path: String) {
        // `unlink` removes files and links, and fails for folders.
        guard unlink(path) != 0, let folder = opendir(path) else { return }
        var names: [String] = []
        while let entry = readdir(folder) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) { field in
                    field.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        closedir(folder)
        for name in names where name != "." && name != ".." { remove(path + "/" + name) }
        rmdir(path)
    }
}

/// A machine and what a test expects of it, identified by a name in a table.
struct Machine<Expected: Sendable>: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var entries: [String: CapturedTree.Entry]
    var expected: Expected

    init(_ name: String, _ entries: [String: CapturedTree.Entry], _ expected: Expected) {
        testDescription = name
        self.entries = entries
        self.expected = expected
    }
}
