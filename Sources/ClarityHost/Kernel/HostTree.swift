import Platform
import Glibc

/// A tree of small text files that the kernel provides: `/` itself, or a captured copy.
struct HostTree: Sendable {
    /// Why a file cannot be used: `/sys/class/power_supply/AC/online: not a number`.
    struct Fault: Error, Hashable, Sendable {
        var path: String
        var reason: String
        /// Whether the file does not exist.
        var isAbsent = false

        var text: String { "\(path): \(reason)" }
    }

    /// The most bytes read from one file. A larger file is a fault.
    static var largestFile: Int { 4 << 20 }

    private let root: String

    init(root: String) {
        self.root = root == "/" ? "" : root
    }

    /// Returns the text of a file, without spaces and newlines at both ends.
    func text(_ path: String) throws(Fault) -> String {
        let bytes = try bytes(path)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Fault(path: path, reason: "not text")
        }
        let content = text.utf8.drop { $0 == 0x20 || $0 == 0x0A }
        guard let last = content.lastIndex(where: { $0 != 0x20 && $0 != 0x0A }) else { return "" }
        return String(text[content.startIndex...last])
    }

    /// Returns the text of a file; `nil` if it does not exist.
    func textIfPresent(_ path: String) throws(Fault) -> String? {
        try ifPresent { () throws(Fault) in try text(path) }
    }

    /// Returns the text of a file, with `\u{FFFD}` in place of invalid UTF-8; `nil` if it does not
    /// exist.
    ///
    /// Use this for tables to which other users can add lines, for example by mounting something.
    func lossyTextIfPresent(_ path: String) throws(Fault) -> String? {
        try ifPresent { () throws(Fault) in String(decoding: try bytes(path), as: UTF8.self) }
    }

    private func ifPresent(_ read: () throws(Fault) -> String) throws(Fault) -> String? {
        do {
            return try read()
        } catch {
            if error.isAbsent { return nil }
            throw error
        }
    }

    /// Returns an integer from 0 to 10^15; `nil` if the file does not exist.
    func countIfPresent(_ path: String) throws(Fault) -> Int64? {
        guard let text = try textIfPresent(path) else { return nil }
        guard let count = Int64(text), (0...1_000_000_000_000_000).contains(count) else {
            throw Fault(path: path, reason: "not a number")
        }
        return count
    }

    /// Returns the names in a folder, sorted.
    func names(in path: String) throws(Fault) -> [String] {
        do throws(WholeFile.Fault) {
            return try WholeFile.names(in: root + path)
        } catch {
            throw fault(path, error)
        }
    }

    func exists(_ path: String) -> Bool {
        access(root + path, F_OK) == 0
    }

    /// Returns the last component of a symbolic link's target; `nil` if there is no such link.
    func linkName(_ path: String) -> String? {
        target(ofLink: path)?.split(separator: "/").last.map { String($0) }
    }

    /// Returns the target of a symbolic link; `nil` if there is no such link.
    func target(ofLink path: String) -> String? {
        linkTarget(root + path)
    }

    private func bytes(_ path: String) throws(Fault) -> [UInt8] {
        do throws(WholeFile.Fault) {
            // Without blocking: a named pipe in place of the file must not stop the scheduler.
            return try WholeFile.bytes(
                of: root + path, atMost: HostTree.largestFile, flags: O_NONBLOCK)
        } catch {
            throw fault(path, error)
        }
    }

    private func fault(_ path: String, _ fault: WholeFile.Fault) -> Fault {
        switch fault {
        case .refused(let code):
            Fault(
                path: path, reason: SystemError(code: code).text,
                isAbsent: code == ENOENT || code == ENOTDIR)
        case .tooLarge: Fault(path: path, reason: "more than \(HostTree.largestFile) bytes")
        }
    }
}
