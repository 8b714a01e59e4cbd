import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// A socket such as systemd gives to a service of the type `notify`.
private final class NotifySocket: Sendable {
    let descriptor: Int32

    /// Binds a path, or an abstract name that begins with `@`.
    init(_ name: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var bytes = Array(name.utf8)
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 } else { bytes.append(0) }
        let address = withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) } + bytes
        let result = address.withUnsafeBytes { raw in
            bind(
                descriptor, raw.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                socklen_t(raw.count))
        }
        guard result == 0 else { throw TemporaryFolder.Errno(code: errno) }
    }

    deinit { close(descriptor) }

    /// Returns the next message that contains `text`, or `nil` if none comes within `milliseconds`
    /// of the one before, or among the next 200: signs of life may go on for ever.
    func next(_ text: String, within milliseconds: Int32 = 60_000) async throws -> String? {
        try await blocking { [descriptor] in
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            for _ in 0..<200 {
                guard poll(&ready, 1, milliseconds) > 0 else { break }
                var buffer = [UInt8](repeating: 0, count: 4096)
                let count = recv(descriptor, &buffer, buffer.count, 0)
                let message = String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
                if message.contains(text) { return message }
            }
            return nil
        }
    }
}

@Suite("A loop under a service manager", .timeLimit(.minutes(5)))
struct NotifyProgramTests {
    /// `job` returns what the job `look` has beside its schedule, for a folder.
    private func playground(_ job: @escaping (String) -> String) async throws -> Playground {
        try await Playground { url, folder in
            """
            version: 1
            backend: { url: \(url) }
            sources: []
            jobs:
              - { id: look, kind: command, schedule: { every: 1d }, \(job(folder)) }

            """
        }
    }

    private func doingNothing(_ folder: String) -> String {
        "options: { command: [/usr/bin/true] }"
    }

    @Test(arguments: [false, true])
    func `a loop reports that it is ready, alive, reloading and stopping`(
        isAbstract: Bool
    ) async throws {
        let playground = try await playground { folder in
            "options: { command: [/usr/bin/head, -n1, '\(folder)/go'] }"
        }
        let path = "\(playground.folder.path)/notify"
        try #require(mkfifo("\(playground.folder.path)/go", 0o600) == 0)
        let name = isAbstract ? "@\(path)" : path
        let socket = try NotifySocket(name)
        let loop = try playground.start(
            ["loop"], environment: ["NOTIFY_SOCKET": name, "WATCHDOG_USEC": "200000"])

        let ready = try #require(try await socket.next("READY=1"))
        let runs = try #require(try await socket.next("STATUS=runs"))
        try playground.folder.write("go", Array("now\n".utf8))
        let idle = try #require(try await socket.next("STATUS=idle"))
        let alive = [try await socket.next("WATCHDOG=1"), try await socket.next("WATCHDOG=1")]
        loop.signal(SIGHUP)
        let reloading = try #require(try await socket.next("RELOADING=1"))
        let reloaded = try #require(try await socket.next("READY=1"))
        loop.signal(SIGTERM)
        let stopping = try #require(try await socket.next("STOPPING=1"))
        let end = await loop.finish()

        #expect(ready.contains("\nSTATUS=idle"), "\(ready)")
        #expect(runs == "STATUS=runs look")
        #expect(idle.wholeMatch(of: /STATUS=idle; next look at \S+Z/) != nil, "\(idle)")
        #expect(alive == ["WATCHDOG=1", "WATCHDOG=1"])
        #expect(reloading.wholeMatch(of: /RELOADING=1\nMONOTONIC_USEC=\d+/) != nil, "\(reloading)")
        #expect(reloaded.hasPrefix("READY=1"))
        #expect(stopping == "STOPPING=1\nSTATUS=stopping")
        #expect(end.status == 143)
    }

    @Test func `a loop that hangs gives no more signs of life`() async throws {
        let playground = try await playground(doingNothing)
        let path = "\(playground.folder.path)/notify"
        let socket = try NotifySocket(path)
        let loop = try playground.start(
            ["loop"], environment: ["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "200000"])
        let first = try await socket.next("WATCHDOG=1")
        loop.signal(SIGSTOP)

        // What was on its way, and then nothing for ten times the span.
        while try await socket.next("WATCHDOG=1", within: 2000) != nil {}
        loop.signal(SIGCONT)
        let again = try await socket.next("WATCHDOG=1")
        loop.signal(SIGTERM)
        let end = await loop.finish()

        #expect(first != nil)
        #expect(again != nil)
        #expect(end.status == 143)
    }

    @Test func `commands find no socket of the service manager`() async throws {
        let playground = try await playground { folder in
            "options: { command: [/bin/sh, -c, 'env > \(folder)/env.txt'] }"
        }
        let path = "\(playground.folder.path)/notify"
        let socket = try NotifySocket(path)
        let loop = try playground.start(
            ["loop"], environment: ["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "90000000"])
        _ = await loop.readErrorLine()
        let ended = try #require(await loop.readErrorLine())
        loop.signal(SIGTERM)
        _ = await loop.finish()

        let found = String(
            decoding: try TemporaryFolder.read("\(playground.folder.path)/env.txt"), as: UTF8.self)
        #expect(ended.hasPrefix("look: succeeded"), "\(ended)")
        let ready = try await socket.next("READY=1")
        #expect(ready != nil)
        #expect(found.contains("PATH="))
        #expect(!found.contains("NOTIFY_SOCKET") && !found.contains("WATCHDOG"), "\(found)")
    }

    @Test func `a watchdog of another process is not this one's`() async throws {
        let playground = try await playground(doingNothing)
        let path = "\(playground.folder.path)/notify"
        let socket = try NotifySocket(path)
        let loop = try playground.start(
            ["loop"],
            environment: [
                "NOTIFY_SOCKET": path, "WATCHDOG_USEC": "100000", "WATCHDOG_PID": "1",
            ])
        _ = try await socket.next("READY=1")

        let sign = try await socket.next("WATCHDOG=1", within: 1000)
        loop.signal(SIGTERM)
        _ = await loop.finish()

        #expect(sign == nil)
    }

    @Test func `the status says what waits and for what`() async throws {
        let playground = try await playground { _ in
            "constraints: { storage_free: 900TiB }, options: { command: [/usr/bin/true] }"
        }
        let path = "\(playground.folder.path)/notify"
        let socket = try NotifySocket(path)
        let loop = try playground.start(["loop"], environment: ["NOTIFY_SOCKET": path])
        let first = try #require(try await socket.next("STATUS=look waits"))

        let pause = try await playground.run("pause", "look")
        let paused = try #require(try await socket.next("STATUS=look is paused"))
        loop.signal(SIGTERM)
        _ = await loop.finish()

        #expect(
            first.wholeMatch(of: /STATUS=look waits for storage_free; next look at \S+Z/) != nil,
            "\(first)")
        #expect(pause.status == 0)
        #expect(
            paused.wholeMatch(of: /STATUS=look is paused; next look at \S+Z/) != nil, "\(paused)")
    }
}
