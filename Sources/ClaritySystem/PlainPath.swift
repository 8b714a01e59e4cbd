@preconcurrency import Glibc

/// Says one path in one way, so that two spellings of it are known for the same.
public enum PlainPath {
    /// The path without empty parts, `.` and a slash at its end; it leads where `path` leads.
    public static func of(_ path: String) -> String { joined(parts(path), like: path) }

    /// The same with each `..` taken together with the part before it, where the path then still leads
    /// to the same file: behind a symbolic link it may not.
    ///
    /// A path to something that is not there is shortened too.
    public static func shortest(_ path: String) -> String {
        let short = withoutParents(path)
        return isSameFile(short, path) ? short : of(path)
    }

    /// The path by its text alone, with `..` taken together with the part before it.
    static func withoutParents(_ path: String) -> String {
        var kept: [Substring] = []
        for part in parts(path) {
            if part == "..", let last = kept.last, last != ".." {
                kept.removeLast()
            } else if part != ".." || !path.hasPrefix("/") {
                kept.append(part)
            }
        }
        return joined(kept, like: path)
    }

    private static func parts(_ path: String) -> [Substring] {
        path.split(separator: "/").filter { $0 != "." }
    }

    private static func joined(_ parts: [Substring], like path: String) -> String {
        let text = parts.joined(separator: "/")
        if path.hasPrefix("/") { return "/\(text)" }
        return text.isEmpty && !path.isEmpty ? "." : text
    }

    private static func isSameFile(_ one: String, _ other: String) -> Bool {
        var (first, second) = (stat(), stat())
        guard stat(other, &second) == 0 else { return true }
        return stat(one, &first) == 0 && first.st_dev == second.st_dev
            && first.st_ino == second.st_ino
    }
}
