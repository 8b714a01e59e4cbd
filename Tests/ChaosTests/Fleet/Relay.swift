import ClarityTestSupport
import Glibc
import Synchronization

/// Stands between programs and a server on a Unix socket, and can cut them off: nothing passes then,
/// or nothing in one direction, and neither side is told.
///
/// A thread of its own passes bytes on.
final class Relay: Sendable {
    /// What does not pass.
    enum Cut: CaseIterable {
        case all, requests, answers
    }

    private struct State {
        var cut: Cut?
        var isEnding = false
        var dropsIdlest = false
    }

    /// A connection: what a side has sent goes to the other.
    private struct Pair {
        var client: Int32
        var server: Int32
        /// When something last passed.
        var lastUse = ContinuousClock.now

        func close() {
            for side in [client, server] {
                // A program that another test started meanwhile may have inherited it.
                shutdown(side, Int32(SHUT_RDWR))
                Glibc.close(side)
            }
        }
    }

    private static let name = ".s.PGSQL.5432"

    private let listener: Int32
    private let target: String
    private let state = Mutex(State())

    /// Begins to listen in `folder`, as the server does in its own.
    init(to server: String, in folder: String) throws {
        target = "\(server)/\(Relay.name)"
        listener = try Relay.socket(at: "\(folder)/\(Relay.name)") { bind($0, $1, $2) }
        guard listen(listener, 64) == 0 else { throw TemporaryFolder.Errno(code: errno) }
        let retained = Unmanaged.passRetained(self)
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { argument in
                pthread_detach(pthread_self())
                if let argument { Unmanaged<Relay>.fromOpaque(argument).takeRetainedValue().run() }
                return nil
            }, retained.toOpaque())
    }

    /// Cuts the way, or mends it with `nil`. What a side has sent in between arrives then.
    func cut(_ cut: Cut?) { state.withLock { $0.cut = cut } }

    /// Ends the connection over which nothing has passed for the longest time.
    func dropIdlest() { state.withLock { $0.dropsIdlest = true } }

    /// Ends all connections.
    func end() { state.withLock { $0.isEnding = true } }

    private func run() {
        var pairs: [Pair] = []
        defer {
            pairs.forEach { $0.close() }
            close(listener)
        }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let now = state.withLock { state in
                defer { state.dropsIdlest = false }
                return state
            }
            if now.isEnding { return }
            if now.dropsIdlest,
                let idlest = pairs.indices.min(by: { pairs[$0].lastUse < pairs[$1].lastUse })
            {
                pairs.remove(at: idlest).close()
            }
            // poll(2) passes over what is negative.
            let nothing: Int32 = -1
            let open = pairs.flatMap { pair in
                [
                    now.cut == nil || now.cut == .answers ? pair.client : nothing,
                    now.cut == nil || now.cut == .requests ? pair.server : nothing,
                ]
            }
            var watched = ([now.cut == nil ? listener : nothing] + open).map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            // Looks at the state again after this time, in milliseconds.
            guard poll(&watched, nfds_t(watched.count), 20) > 0 else { continue }
            var ended: [Int] = []
            for index in pairs.indices {
                let sides = [(pairs[index].client, pairs[index].server)]
                for (place, (from, to)) in (sides + sides.map { ($0.1, $0.0) }).enumerated()
                where watched[1 + 2 * index + place].revents != 0 {
                    pairs[index].lastUse = .now
                    if !Relay.pass(from, to, &buffer), !ended.contains(index) {
                        ended.append(index)
                    }
                }
            }
            for index in ended.reversed() { pairs.remove(at: index).close() }
            if watched[0].revents != 0 { accept().map { pairs.append($0) } }
        }
    }

    /// Passes on what has arrived; returns `false` at the end of the connection.
    private static func pass(_ from: Int32, _ to: Int32, _ buffer: inout [UInt8]) -> Bool {
        let count = recv(from, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        var rest = buffer[..<count]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes {
                send(to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard sent > 0 else { return false }
            rest = rest.dropFirst(sent)
        }
        return true
    }

    private func accept() -> Pair? {
        let client = Glibc.accept(listener, nil, nil)
        guard client >= 0 else { return nil }
        _ = fcntl(client, F_SETFD, FD_CLOEXEC)
        // The server may be down: then the client sees the end of its connection.
        guard let server = try? Relay.socket(at: target, connect) else {
            close(client)
            return nil
        }
        return Pair(client: client, server: server)
    }

    /// Makes a socket and does with it and an address what `body` does.
    private static func socket(
        at path: String, _ body: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = Glibc.socket(AF_UNIX, kind, 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let fits = path.utf8.count < MemoryLayout.size(ofValue: address.sun_path)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard fits, code == 0 else {
            defer { close(descriptor) }
            throw TemporaryFolder.Errno(code: fits ? errno : ENAMETOOLONG)
        }
        return descriptor
    }
}
