import ClarityTestSupport
import Glibc

/// What `/proc` shows of processes.
enum ProcessTable {
    /// The processes that `parent` has started and not yet reaped, but for those that have ended.
    static func children(of parent: Int32) -> [Int32] {
        names(in: "/proc/\(parent)/task").flatMap { thread -> [Int32] in
            text("/proc/\(parent)/task/\(thread)/children").split(separator: " ")
                .compactMap { Int32($0) }
        }.filter(isAlive)
    }

    /// Whether a process runs; one that has ended and waits to be reaped does not.
    static func isAlive(_ process: Int32) -> Bool {
        guard let state = state(of: process) else { return false }
        return state != "Z" && state != "X"
    }

    /// The letter that the kernel shows for a process; `nil` for one that is gone.
    private static func state(of process: Int32) -> Character? {
        // `pid (name) state ...`, where the name may hold anything.
        let text = text("/proc/\(process)/stat")
        guard let name = text.lastIndex(of: ")") else { return nil }
        return text[name...].dropFirst(2).first
    }

    /// Returns when a process has been stopped by a signal, or is gone.
    static func waitForStop(of process: Int32) async throws {
        try await blocking {
            while isAlive(process), state(of: process) != "T" { sched_yield() }
        }
    }

    /// Returns the first child of `parent` as soon as it has one; `nil` when it ends without.
    static func firstChild(of parent: Int32) async throws -> Int32? {
        try await blocking {
            while isAlive(parent) {
                if let child = children(of: parent).first { return child }
                sched_yield()
            }
            return nil
        }
    }

    /// Returns when a child of this process has ended, and leaves it unreaped.
    static func waitForEnd(of child: Int32) async throws {
        try await blocking {
            var information = siginfo_t()
            while waitid(P_PID, id_t(child), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        }
    }

    /// The names in a folder that begin with a digit.
    static func names(in path: String) -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.first?.isNumber == true { names.append(name) }
        }
        return names
    }

    /// The first 4 KiB of a file; empty when it cannot be read.
    static func text(_ path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(file, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : ""
    }
}
