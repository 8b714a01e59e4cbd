/// The file systems that should be mounted, and those that are.
struct MountPoints {
    /// The mount points that fstab(5) names, including those that are mounted on demand.
    private let declared: Set<String>
    private let mounted: Set<String>

    /// Parses both tables.
    init(table: String, mounts: String) {
        declared = Set(MountPoints.fields(1, of: table).filter { $0.hasPrefix("/") && $0 != "/" })
        mounted = Set(MountPoints.fields(4, of: mounts))
    }

    /// Returns the nearest mount point at or above `path` whose declared file system is not
    /// mounted; `nil` if nothing is missing.
    func missing(above path: String) -> String? {
        var place = path
        while place.count > 1, place.hasSuffix("/") { place.removeLast() }
        while place.hasPrefix("/"), place != "/" {
            // `path` is on the file system mounted here, so mount points further up do not matter.
            if mounted.contains(place) { return nil }
            if declared.contains(place) { return place }
            guard let slash = place.lastIndex(of: "/") else { return nil }
            place = slash == place.startIndex ? "/" : String(place[..<slash])
        }
        return nil
    }

    private static func fields(_ index: Int, of text: String) -> [String] {
        text.split(separator: "\n").compactMap { line in
            let fields = line.split { $0 == " " || $0 == "\t" }
            guard fields.count > index, fields[0].first != "#" else { return nil }
            return unescaped(fields[index])
        }
    }

    /// Decodes `\040` and the like: white space in a path is written as its octal number.
    private static func unescaped(_ field: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(field.utf8)[...]
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
