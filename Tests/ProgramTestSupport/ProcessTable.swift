import ClarityTestSupport
import Glibc

/// What `/proc` shows about processes.
enum ProcessTable {
    /// Returns the processes that `parent` has started, without those that have ended.
    static func children(of parent: Int32) -> [Int32] {
        names(in: "/proc/\(parent)/task").flatMap { thread -> [Int32] in
            text("/proc/\(parent)/task/\(thread)/children").split(separator: " ")
                .compactMap { Int32($0) }
        }.filter(isAlive)
    }

    /// Returns whether a process runs. A process that has ended and waits to be reaped does not.
    static func isAlive(_ process: Int32) -> Bool {
        guard let state = state(of: process) else { return false }
        return state != "Z" && state != "X"
    }

    /// Stops these processes and returns the ports of their TCP connections over IPv4. Processes
    /// that are gone have none.
    static func stopped(_ processes: [Int32]) async throws -> Set<Int> {
        var ports: Set<Int> = []
        for process in processes where kill(process, SIGSTOP) == 0 {
            try await waitForStop(of: process)
            let sockets = Set(
                names(in: "/proc/\(process)/fd").compactMap { link("/proc/\(process)/fd/\($0)") })
            // `sl local_address rem_address st queues timer retransmit uid timeout inode`.
            for line in text("/proc/\(process)/net/tcp", most: .max).split(separator: "\n") {
                let words = line.split(separator: " ")
                guard words.count > 9, sockets.contains("socket:[\(words[9])]"),
                    let port = words[1].split(separator: ":").last.flatMap({ Int($0, radix: 16) })
                else { continue }
                ports.insert(port)
            }
        }
        return ports
    }

    /// Returns the states of the open TCP connections over IPv4 to a port of `process`, on its side,
    /// as `/proc/net/tcp` numbers them. What a program has sent before it ended may still wait there.
    static func openConnections(to port: Int, of process: Int32) -> [String] {
        // Nothing more arrives at a listener, and on a connection that this side has closed, which
        // may wait for the other side for a minute: FIN_WAIT1 and 2, TIME_WAIT, LAST_ACK, CLOSING.
        let isOver: Set<Substring> = ["0A", "04", "05", "06", "09", "0B"]
        let lines = text("/proc/\(process)/net/tcp", most: .max).split(separator: "\n")
        return lines.dropFirst().compactMap { line in
            let words = line.split(separator: " ")
            guard words.count > 3, !isOver.contains(words[3]),
                words[1].split(separator: ":").last.flatMap({ Int($0, radix: 16) }) == port
            else { return nil }
            return String(words[3])
        }
    }

    /// Returns whether a process has a file open. Only root sees this of a process whose memory is
    /// closed to others.
    static func opens(_ process: Int32, _ path: String) -> Bool {
        names(in: "/proc/\(process)/fd").contains { link("/proc/\(process)/fd/\($0)") == path }
    }

    /// Returns the target of a symbolic link.
    private static func link(_ path: String) -> String? {
        var bytes = [CChar](repeating: 0, count: 128)
        let count = readlink(path, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Returns the letter that the kernel shows for a process, or `nil` if the process is gone.
    private static func state(of process: Int32) -> Character? {
        // `pid (name) state ...`, where the name may contain anything.
        let text = text("/proc/\(process)/stat")
        guard let name = text.lastIndex(of: ")") else { return nil }
        return text[name...].dropFirst(2).first
    }

    /// Returns when a signal has stopped a process, or when the process is gone.
    static func waitForStop(of process: Int32) async throws {
        try await blocking {
            while isAlive(process), state(of: process) != "T" { sched_yield() }
        }
    }

    /// Returns the first child of `parent` as soon as it has one, or `nil` if it ends without one.
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

    /// Returns the names in a folder that begin with a digit.
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

    /// Returns the beginning of a file, or an empty text if the file cannot be read.
    static func text(_ path: String, most: Int = 4096) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var (text, bytes): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 4096))
        while text.count < most {
            let count = read(file, &bytes, bytes.count)
            guard count > 0 else { break }
            text += bytes[..<count]
        }
        return String(decoding: text, as: UTF8.self)
    }
}
