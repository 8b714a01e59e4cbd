/// The file systems that should be mounted, and those that are.
struct MountPoints {
    /// The mount points that fstab(5) names, including those that are mounted on demand.
    private let declared: Set<String>
    private let mounts: () throws(HostTree.Fault) -> String?
    private var mounted: Set<String>?

    /// Parses fstab(5). `mounts` returns the text of proc(5) `mountinfo`, or `nil` if there is none;
    /// it is called at most once, and only for a path below a declared mount point: the kernel's
    /// table is long, and most paths do not need it.
    init(table: String, mounts: @escaping () throws(HostTree.Fault) -> String?) {
        declared = Set(MountPoints.fields(1, of: table).filter { $0.hasPrefix("/") && $0 != "/" })
        self.mounts = mounts
    }

    /// Returns the nearest mount point at or above `path` whose declared file system is not
    /// mounted; `nil` if nothing is missing.
    mutating func missing(above path: String) throws(HostTree.Fault) -> String? {
        let folders = MountPoints.foldersUp(from: path)
        guard let nearest = folders.firstIndex(where: declared.contains) else { return nil }
        if mounted == nil {
            guard let text = try mounts() else { return nil }
            mounted = Set(MountPoints.fields(4, of: text))
        }
        // A file system that is mounted at or below the declared point is the one of `path`.
        let isMounted = folders[...nearest].contains { mounted?.contains($0) == true }
        return isMounted ? nil : folders[nearest]
    }

    /// Returns an absolute path and the folders above it up to `/`, which is left out.
    private static func foldersUp(from path: String) -> [String] {
        var folder = path[...]
        while folder.utf8.count > 1, folder.last == "/" { folder.removeLast() }
        var folders: [String] = []
        while folder.first == "/", folder != "/" {
            folders.append(String(folder))
            guard let slash = folder.lastIndex(of: "/") else { break }
            folder = slash == folder.startIndex ? "/" : folder[..<slash]
        }
        return folders
    }

    private static func fields(_ index: Int, of text: String) -> [String] {
        text.utf8.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let fields = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            guard fields.count > index, fields[0].first != UInt8(ascii: "#") else { return nil }
            return unescaped(fields[index])
        }
    }

    /// Decodes `\040` and the like: white space in a path is written as its octal number.
    private static func unescaped(_ field: Substring.UTF8View) -> String {
        var bytes: [UInt8] = []
        var rest = field[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            if byte == UInt8(ascii: "\\"), digits.count == 3,
                let number = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
            {
                bytes.append(number)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
