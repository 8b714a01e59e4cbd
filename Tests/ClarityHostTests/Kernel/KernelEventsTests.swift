import ClarityScheduler
import ClarityTestSupport
import Glibc
import Testing

@testable import ClarityHost

@Suite(.timeLimit(.minutes(1))) struct KernelEventsTests {
    /// What the kernel says when a cable is put in.
    static let battery = announcement(
        "change@/devices/LNXSYSTM:00/PNP0C0A:00/power_supply/BAT0", "ACTION=change",
        "SUBSYSTEM=power_supply", "POWER_SUPPLY_STATUS=Charging")
    static let disk = announcement(
        "add@/devices/pci0000:00/block/sda", "ACTION=add", "SUBSYSTEM=block")

    static func announcement(_ fields: String...) -> [UInt8] {
        fields.flatMap { Array($0.utf8) + [0] }
    }

    @Test func `only announcements of power supplies matter`() {
        #expect(KernelEvents.isPowerSupply(Self.battery[...]))
        #expect(!KernelEvents.isPowerSupply(Self.disk[...]))
        #expect(!KernelEvents.isPowerSupply([]))
        #expect(!KernelEvents.isPowerSupply(Array("XSUBSYSTEM=power_supply".utf8)[...]))
    }

    @Test(arguments: [([disk], false), ([battery], true), ([battery, disk], true), ([], false)])
    func `news is what matters among all that was announced`(
        _ announcements: [[UInt8]], _ isNews: Bool
    ) throws {
        var ends: [Int32] = [-1, -1]
        #expect(
            socketpair(
                AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        let feed = KernelEvents.Feed(descriptor: ends[1], matters: KernelEvents.isPowerSupply)
        for bytes in announcements { #expect(send(ends[0], bytes, bytes.count, 0) == bytes.count) }

        let first = KernelEvents.hasNews(feed)
        let second = KernelEvents.hasNews(feed)

        #expect(first == isNews)
        #expect(!second, "everything has been taken")
    }

    @Test(arguments: [(ECANCELED, true), (ENOBUFS, true), (EAGAIN, false), (EBADF, false)])
    func `a clock that was set and an overflow are news, and no other failure`(
        _ code: Int32, _ isNews: Bool
    ) {
        #expect(KernelEvents.isNews(code) == isNews)
    }

    @Test func `a wall clock that runs on is no news`() throws {
        let clock = try #require(KernelEvents.wallClock)
        defer { close(clock.descriptor) }

        let news = KernelEvents.hasNews(clock)

        #expect(!news)
    }

    @Test func `news becomes an element`() async throws {
        var ends: [Int32] = [-1, -1]
        #expect(
            socketpair(
                AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        let (kernel, heard) = (ends[0], ends[1])
        defer { close(kernel) }
        let feed = KernelEvents.Feed(descriptor: heard, matters: KernelEvents.isPowerSupply)
        var elements = KernelEvents.stream(
            of: [feed], on: try #require(EventThread.shared)
        ).makeAsyncIterator()

        #expect(send(kernel, Self.battery, Self.battery.count, 0) == Self.battery.count)
        let element: Void? = await elements.next()

        #expect(element != nil)
    }

    @Test func `the sockets are closed when the consumer ends`() async throws {
        var ends: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let (kernel, heard) = (ends[0], ends[1])
        defer { close(kernel) }
        let stream = KernelEvents.stream(
            of: [KernelEvents.Feed(descriptor: heard) { _ in true }],
            on: try #require(EventThread.shared))

        let consumer = Task { for await _ in stream {} }
        consumer.cancel()
        await consumer.value

        // The other end reads the end of the stream, and waits until it comes.
        let count = try await blocking {
            var byte: UInt8 = 0
            return read(kernel, &byte, 1)
        }
        #expect(count == 0)
    }

    @Test func `a machine without feeds is silent until its consumer ends`() async throws {
        let stream = KernelEvents.stream(of: [], on: try #require(EventThread.shared))

        let consumer = Task { for await _ in stream { Issue.record("an element from nowhere") } }
        consumer.cancel()

        await consumer.value
    }

    @Test(.enabled(if: geteuid() == 0, "a network of one's own takes root"))
    func `a link that comes up is a change`() async throws {
        let changes = try #require(await NetworkOfItsOwn.changesAroundLinkUp())
        var elements = changes.makeAsyncIterator()

        let element: Void? = await elements.next()

        #expect(element != nil)
    }
}

/// A network namespace with nothing but a loopback interface that is down.
private enum NetworkOfItsOwn {
    /// Listens in a new namespace, then sets its loopback interface up; `nil` when the machine
    /// does not let us.
    static func changesAroundLinkUp() async -> AsyncStream<Void>? {
        // A thread that ends takes its namespace with it; the sockets made in it keep theirs.
        do {
            return try await AttemptThread.run {
                guard unshareNetwork() else { return nil }
                let changes = HostConditions(stateDirectory: "/").changes()
                return setLoopbackUp() ? changes : nil
            }
        } catch {
            return nil
        }
    }

    /// unshare(2), which Glibc's overlay does not show.
    private static func unshareNetwork() -> Bool {
        typealias Unshare = @convention(c) (Int32) -> Int32
        guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "unshare") else { return false }
        let cloneNewNetwork: Int32 = 0x4000_0000
        return unsafeBitCast(symbol, to: Unshare.self)(cloneNewNetwork) == 0
    }

    private static func setLoopbackUp() -> Bool {
        let socket = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(socket) }
        // netdevice(7): 16 bytes of name, then 16 bits of flags, of which 1 is IFF_UP.
        var request = [UInt8](repeating: 0, count: 40)
        request.replaceSubrange(0..<2, with: Array("lo".utf8))
        request[16] = 1
        let setFlags: UInt = 0x8914
        return ioctl(socket, setFlags, &request) == 0
    }
}
