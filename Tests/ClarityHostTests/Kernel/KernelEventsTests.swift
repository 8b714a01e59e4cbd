import CLinux
import ClarityTestSupport
import Glibc
import Testing

@testable import ClarityHost

@Suite(.timeLimit(.minutes(5))) struct KernelEventsTests {
    /// The kernel's announcement when a charging cable is plugged in.
    static let battery = announcement(
        "change@/devices/LNXSYSTM:00/PNP0C0A:00/power_supply/BAT0", "ACTION=change",
        "SUBSYSTEM=power_supply", "POWER_SUPPLY_STATUS=Charging")
    static let disk = announcement(
        "add@/devices/pci0000:00/block/sda", "ACTION=add", "SUBSYSTEM=block")

    static func announcement(_ fields: String...) -> [UInt8] {
        fields.flatMap { Array($0.utf8) + [0] }
    }

    /// Makes a socket pair that programs started by other tests do not keep open.
    private static func pair(_ ends: inout [Int32], _ types: __socket_type...) -> Int32 {
        let type = types.reduce(Int32(SOCK_CLOEXEC.rawValue)) { $0 | Int32($1.rawValue) }
        return socketpair(AF_UNIX, type, 0, &ends)
    }

    @Test func `only announcements of power supplies and profiles matter`() {
        #expect(KernelEvents.isPowerSupply(Self.battery[...]))
        #expect(!KernelEvents.isPowerSupply(Self.disk[...]))
        #expect(KernelEvents.isPowerSupply(Self.announcement("SUBSYSTEM=platform-profile")[...]))
        #expect(!KernelEvents.isPowerSupply([]))
        #expect(!KernelEvents.isPowerSupply(Array("XSUBSYSTEM=power_supply".utf8)[...]))
    }

    @Test(
        arguments: [
            (["disk"], false), (["battery"], true), (["battery", "disk"], true), ([], false),
        ])
    func `news is what matters among all that was announced`(
        _ names: [String], _ isNews: Bool
    ) throws {
        let announcements = names.map { $0 == "disk" ? Self.disk : Self.battery }
        var ends: [Int32] = [-1, -1]
        #expect(Self.pair(&ends, SOCK_DGRAM, SOCK_NONBLOCK) == 0)
        defer { for end in ends { close(end) } }
        let feed = KernelEvents.Feed(
            descriptor: ends[1], kind: .netlink(matters: KernelEvents.isPowerSupply))
        for bytes in announcements { #expect(send(ends[0], bytes, bytes.count, 0) == bytes.count) }

        let first = KernelEvents.hasNews(feed)
        let second = KernelEvents.hasNews(feed)

        #expect(first == isNews)
        #expect(!second, "everything has been taken")
    }

    @Test(arguments: [
        (ECANCELED, true), (ENOBUFS, true), (EMSGSIZE, true), (EAGAIN, false), (EBADF, false),
    ])
    func `a clock that was set and what was lost are news, and no other failure`(
        _ code: Int32, _ isNews: Bool
    ) {
        #expect(KernelEvents.isNews(code) == isNews)
    }

    @Test func `a wall clock that runs on is no news`() throws {
        let timer = clinux_watch_wall_clock()
        defer { close(timer) }
        let clock = KernelEvents.Feed(descriptor: timer, kind: .wallClock)

        let news = KernelEvents.hasNews(clock)

        #expect(!news)
    }

    @Test func `news becomes an element`() async throws {
        var ends: [Int32] = [-1, -1]
        #expect(Self.pair(&ends, SOCK_DGRAM, SOCK_NONBLOCK) == 0)
        let (kernel, heard) = (ends[0], ends[1])
        defer { close(kernel) }
        let feed = KernelEvents.Feed(
            descriptor: heard, kind: .netlink(matters: KernelEvents.isPowerSupply))
        var elements = try #require(EventThread.shared)
            .elements(of: [KernelEvents.source(feed)]).makeAsyncIterator()

        #expect(send(kernel, Self.battery, Self.battery.count, 0) == Self.battery.count)
        let element: Void? = await elements.next()

        #expect(element != nil)
    }

    @Test func `the sockets are closed when the consumer ends`() async throws {
        var ends: [Int32] = [-1, -1]
        #expect(Self.pair(&ends, SOCK_STREAM) == 0)
        let (kernel, heard) = (ends[0], ends[1])
        defer { close(kernel) }
        let feed = KernelEvents.Feed(descriptor: heard, kind: .netlink { _ in true })
        let stream = try #require(EventThread.shared).elements(of: [KernelEvents.source(feed)])

        let consumer = Task { for await _ in stream {} }
        consumer.cancel()
        await consumer.value

        // This read blocks until the other socket is closed, and then returns the end of the
        // stream.
        let count = try await blocking {
            var byte: UInt8 = 0
            return read(kernel, &byte, 1)
        }
        #expect(count == 0)
    }

    @Test func `a machine without feeds is silent until its consumer ends`() async throws {
        let stream = try #require(EventThread.shared).elements(of: [EventSource<Void>]())

        let consumer = Task { for await _ in stream { Issue.record("an element from nowhere") } }
        consumer.cancel()

        await consumer.value
    }

    @Test func `a machine of this kind hears of all that changes`() {
        let states = KernelEvents.states() + PressureWatch.states(above: 20)

        #expect(
            states.map(\.subject) == [
                "links and routes", "power supplies", "steps of the wall clock", "pressure on cpu",
                "pressure on memory", "pressure on io",
            ])
        #expect(states.prefix(3).allSatisfy { $0.fault == nil }, "\(states)")
        #expect(
            states.dropFirst(3).allSatisfy {
                ($0.fault == nil) == (PressureTriggerTests.reasonForNone == nil)
            })
    }

    /// A file that makes the kernel announce a processor, as at boot, when root writes to it.
    static let processor = "/sys/devices/system/cpu/cpu0/uevent"

    @Test(.enabled(if: access(processor, W_OK) == 0, "announcing a device takes root"))
    func `what the kernel announces of its devices is heard`() throws {
        let listener = DeviceSockets.listener()
        defer { close(listener) }
        let feed = KernelEvents.Feed(
            descriptor: listener,
            kind: .netlink { announcement in
                announcement.split(separator: 0).contains { $0.elementsEqual("SUBSYSTEM=cpu".utf8) }
            })
        let file = open(Self.processor, O_WRONLY | O_CLOEXEC)
        defer { close(file) }

        #expect(write(file, "change", 6) == 6)

        // The announcement arrives before the write returns.
        #expect(KernelEvents.hasNews(feed))
        #expect(!KernelEvents.hasNews(feed))
    }
}

/// Makes sockets for the announcement of devices.
enum DeviceSockets {
    private static let groups: UInt32 = 1

    /// Returns a socket like that of the kernel event listener.
    static func listener() -> Int32 { clinux_listen_devices() }

    /// Returns a socket that announces devices as udev does.
    static func sender() -> Int32 {
        let deviceEvents: Int32 = 15
        return socket(
            AF_NETLINK, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue), deviceEvents)
    }

    /// Sends bytes to all listeners of the kernel's group, and returns the number of bytes sent.
    static func send(_ bytes: [UInt8], from sender: Int32) -> Int {
        // `struct sockaddr_nl`, which Glibc's overlay lacks: family, padding, port, groups.
        var address: [UInt16] = [UInt16(AF_NETLINK), 0, 0, 0, UInt16(groups), 0]
        return address.withUnsafeMutableBytes { place in
            guard let name = place.baseAddress?.assumingMemoryBound(to: sockaddr.self) else {
                return -1
            }
            return sendto(sender, bytes, bytes.count, 0, name, socklen_t(place.count))
        }
    }
}
