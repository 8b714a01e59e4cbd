@preconcurrency import Glibc

/// Normalizes paths, so that two spellings of a path compare equal.
public enum PlainPath {
    /// Returns the path without empty components, `.` and a trailing slash; it leads to the same
    /// file.
    public static func of(_ path: String) -> String { joined(parts(path), like: path) }

    /// Returns the normalized path with each `..` and the component before it removed, if the
    /// result still leads to the same file.
    ///
    /// After a symbolic link it may not; then only `of` is applied. A path to a file that does not
    /// exist is shortened too.
    public static func shortest(_ path: String) -> String {
        let short = withoutParents(path)
        // Only a `..` can make it another file.
        return short == path || isSameFile(short, path) ? short : of(path)
    }

    /// Returns the path with each `..` and the component before it removed, without reading the
    /// disk.
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
