import Glibc

/// The built program as a process, whose standard input stays open as long as this object lives.
final class SandboxProgram {
    let pid: pid_t
    private var input: Int32
    private let output: Int32
    private let errors: Int32

    init(_ arguments: String...) throws {
        // Socket pairs, not pipes: they have close-on-exec set from the start, so no child of
        // another test inherits an end.
        func pipes() -> (read: Int32, write: Int32) {
            var ends: [Int32] = [0, 0]
            socketpair(
                AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends)
            return (ends[0], ends[1])
        }
        let (input, output, errors) = (pipes(), pipes(), pipes())
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input.read, 0)
        posix_spawn_file_actions_adddup2(&actions, output.write, 1)
        posix_spawn_file_actions_adddup2(&actions, errors.write, 2)
        // The test program is in the same folder as the program that it tests.
        var link = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &link, link.count)
        let own = String(
            decoding: link.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
        let folder = own.split(separator: "/").dropLast().joined(separator: "/")
        let path = "/\(folder)/clarity-jobs-sandbox"
        var words = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var pid: pid_t = 0
        let code = posix_spawn(&pid, path, &actions, nil, &words, environ)
        guard code == 0 else { throw TemporaryDirectory.Failure(code: code) }
        for end in [input.read, output.write, errors.write] { close(end) }
        self.pid = pid
        (self.input, self.output, self.errors) = (input.write, output.read, errors.read)
    }

    func closeInput() {
        close(input)
        input = -1
    }

    deinit { for end in [input, output, errors] where end >= 0 { close(end) } }

    private func line(_ descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while read(descriptor, &byte, 1) == 1, byte != UInt8(ascii: "\n") { bytes.append(byte) }
        return String(decoding: bytes, as: UTF8.self)
    }

    var outputLine: String { line(output) }
    var errorLine: String { line(errors) }

    /// Returns the exit status, or the negative number of the signal that ended the program.
    func wait() -> Int32 {
        var status: Int32 = 0
        waitpid(pid, &status, 0)
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
    }

    /// Returns the port where the program listens, which its first line names.
    func port() throws -> UInt16 {
        let line = outputLine
        let start = "clarity-jobs-sandbox listening on http://127.0.0.1:"
        let end = "/api/v1"
        guard line.hasPrefix(start), line.hasSuffix(end),
            let port = UInt16(line.dropFirst(start.count).dropLast(end.count))
        else { throw Bench.Unexpected() }
        return port
    }
}
