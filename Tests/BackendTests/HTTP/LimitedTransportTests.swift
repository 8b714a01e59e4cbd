@testable import Backend
@testable import BackendContract
import ClarityScheduler
import ClarityTestSupport
@preconcurrency import Glibc
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct LimitedTransportTests {
    private let clock = ManualClock()
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var limits: String { "\(folder.path)/backend" }

    /// Answers each request at once, and notes when it came.
    private final class Target: HTTPTransport {
        private let clock: ManualClock
        private let arrivals = Mutex<[Duration]>([])

        init(_ clock: ManualClock) { self.clock = clock }

        /// The times of all requests, in order.
        var times: [Duration] { arrivals.withLock { $0 } }

        func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
            let now = clock.elapsed
            arrivals.withLock { $0.append(now) }
            return HTTPResponse(status: 200)
        }
    }

    /// Sends another request while its own is under way.
    private struct Nested: HTTPTransport {
        let inner: any HTTPTransport

        func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
            try await inner.send(request)
        }
    }

    private func limited(
        _ target: any HTTPTransport, rate: Double? = nil, connections: Int? = nil,
        backend: String = "http://a.example/api", folder: String? = nil, boot: String = "boot-1",
        deadline: Duration? = nil
    ) -> LimitedTransport {
        LimitedTransport(
            target, SharedLimits(requestsPerSecond: rate, connections: connections),
            backend: backend, folder: folder ?? limits, clock: clock, boot: boot,
            deadline: deadline, pause: { .milliseconds(10) })
    }

    private func fault(_ transport: any HTTPTransport) async -> TransportError? {
        do throws(TransportError) {
            _ = try await transport.send(HTTPRequest(.get, "http://a.example/api/x"))
            return nil
        } catch {
            return error
        }
    }

    private func send(_ count: Int, _ transports: any HTTPTransport...) async {
        for number in 0..<count {
            #expect(await fault(transports[number % transports.count]) == nil)
        }
    }

    // MARK: rate

    @Test func `requests of two transports are spaced evenly`() async {
        let target = Target(clock)

        await send(5, limited(target, rate: 4), limited(target, rate: 4))

        #expect(target.times == (0..<5).map { .milliseconds($0 * 250) })
    }

    @Test func `an idle hour allows no burst of requests afterwards`() async {
        let target = Target(clock)
        let transport = limited(target, rate: 0.5)

        await send(1, transport)
        clock.advance(by: .seconds(3600))
        await send(3, transport)

        #expect(target.times == [0, 3600, 3602, 3604].map { .seconds($0) })
    }

    @Test func `each backend has a rate of its own, with or without a final slash`() async {
        let target = Target(clock)

        await send(1, limited(target, rate: 1))
        await send(1, limited(target, rate: 1, backend: "http://b.example/api"))
        await send(1, limited(target, rate: 1, backend: "http://a.example/api/"))

        #expect(target.times == [.zero, .zero, .seconds(1)])
    }

    @Test func `reservations of another boot have passed`() async {
        let target = Target(clock)
        clock.advance(by: .seconds(50))
        await send(1, limited(target, rate: 0.1, boot: "boot-0"))

        await send(2, limited(target, rate: 0.1))

        #expect(target.times == [50, 50, 60].map { .seconds($0) })
    }

    @Test(arguments: ["boot-1 000003600000000\n", "boot-1 -5\n", "boot-1 \n", "", "\0\0\0\0"])
    func `an impossible reservation is ignored`(text: String) async throws {
        let target = Target(clock)
        let transport = limited(target, rate: 0.5)
        await send(1, transport)
        let name = try #require(try folder.contents().keys.first { $0.hasSuffix("-pace") })
        try folder.write(name, Array(text.utf8))

        await send(2, transport)

        #expect(target.times == [0, 0, 2].map { .seconds($0) })
    }

    @Test func `a step of the wall clock changes nothing`() async {
        let target = Target(clock)
        let transport = limited(target, rate: 1)

        await send(1, transport)
        clock.set(clock.now - .seconds(86_400))
        await send(1, transport)

        #expect(target.times == [.zero, .seconds(1)])
    }

    @Test func `a request without time to wait reserves nothing and says when to retry`() async {
        let target = Target(clock)
        await send(1, limited(target, rate: 0.1))

        let early = await fault(limited(target, rate: 0.1, deadline: .seconds(9)))
        let late = await fault(limited(target, rate: 0.1, deadline: .seconds(10)))

        #expect(early == .limited(after: .seconds(10)))
        #expect(late == nil)
        #expect(target.times == [.zero, .seconds(10)])
    }

    @Test func `a cancelled wait sends nothing`() async {
        let target = Target(clock)
        let transport = limited(target, rate: 0.1)
        await send(1, transport)

        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await fault(transport)
        }

        #expect(await task.value == .limited(after: .seconds(10)))
        #expect(target.times == [.zero])
    }

    // MARK: connections

    @Test func `no request begins while all connections are in use`() async {
        let target = Target(clock)
        let inner = limited(target, connections: 2, deadline: .seconds(5))
        let two = limited(Nested(inner: inner), connections: 2)
        let three = limited(Nested(inner: two), connections: 2)

        #expect(await fault(two) == nil)
        #expect(await fault(three) == .limited(after: LimitedTransport.busyWait))
        #expect(target.times == [.zero])
        #expect(clock.elapsed == .seconds(5))
        // The failed request has given its connections back.
        clock.advance(by: .zero - clock.elapsed)
        #expect(await fault(two) == nil)
    }

    @Test func `a free connection goes to the first request in the queue`() async throws {
        let target = Target(clock)
        await send(1, limited(target, connections: 1))
        let name = try #require(try folder.contents().keys.first { $0.hasSuffix("-queue") })
        let queue = LimitFile(folder: folder.path, name: name)
        var head = try queue.lock()

        let behind = await fault(limited(target, connections: 1, deadline: .seconds(1)))
        _ = head.take()
        let next = await fault(limited(target, connections: 1))

        #expect(behind == .limited(after: LimitedTransport.busyWait))
        #expect(next == nil)
    }

    // MARK: files

    @Test func `the files are private and hold nothing of the backend`() async throws {
        await send(1, limited(Target(clock), rate: 1, connections: 1))

        let files = try folder.contents().filter { $0.key != "backend" }
        #expect(files.count == 3)
        for (name, bytes) in files {
            var status = stat()
            #expect(stat("\(folder.path)/\(name)", &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
            #expect(!"\(name)\(String(decoding: bytes, as: UTF8.self))".contains("example"))
        }
        var status = stat()
        #expect(stat(limits, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o700)
    }

    @Test(arguments: [true, false])
    func `nothing is sent where the limits cannot be kept`(isPaced: Bool) async throws {
        let target = Target(clock)
        try folder.write("file", [])

        let error = await fault(
            limited(
                target, rate: isPaced ? 1 : nil, connections: isPaced ? nil : 1,
                folder: "\(folder.path)/file/backend"))

        #expect(
            error
                == .limitsUnusable(
                    Failure(
                        .disk,
                        "cannot keep the backend's limits in `\(folder.path)/file/backend`: "
                            + "Not a directory")))
        #expect(target.times.isEmpty)
    }
}
