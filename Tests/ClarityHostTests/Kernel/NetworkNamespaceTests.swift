import ClarityScheduler
import ClarityTestSupport
import Glibc
import Testing

@testable import ClarityHost

/// Tests the kernel's own answers in networks that the tests create.
@Suite(
    .enabled(if: NetworkNamespace.isPermitted, "network namespaces cannot be made here"),
    .timeLimit(.minutes(5)))
struct NetworkNamespaceTests {
    typealias Reading = Conditions.Reading<Bool>

    /// A change of a network, and the readings after it.
    struct Step: Sendable {
        var change: String
        var make: @Sendable (NetworkNamespace) throws -> Void
        var connected: Reading

        init(
            _ change: String, _ isConnected: Bool, _ source: String,
            _ make: @escaping @Sendable (NetworkNamespace) throws -> Void
        ) {
            self.change = change
            self.make = make
            connected = Reading(isConnected, source: "rtnetlink: \(source)")
        }
    }

    struct Story: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var steps: [Step]

        init(_ name: String, _ steps: Step...) {
            testDescription = name
            self.steps = steps
        }
    }

    static let online = "default route over eth0 in table main"

    static let stories: [Story] = [
        Story(
            "a route comes and goes",
            Step("add", true, online) { try $0.connect() },
            Step("remove", false, "no default route") { try $0.disconnect() }),
        Story(
            "a cable is pulled and put in again",
            Step("add", true, online) { try $0.connect() },
            Step("pull", false, "default route over eth0, which has no carrier") {
                try $0.unplug()
            },
            Step("put in", true, online) { try $0.plugIn() }),
        Story(
            "an interface goes down, and its routes with it",
            Step("add", true, online) { try $0.connect() },
            Step("down", false, "no default route") { try $0.ip("link set eth0 down") }),
        Story(
            "an address goes, and the routes with it",
            Step("add", true, online) { try $0.connect() },
            Step("remove", false, "no default route") {
                try $0.ip("address del \(NetworkNamespace.address)/24 dev eth0")
            }),
        Story(
            "a route in a table of its own",
            Step("add", true, "default route over eth0 in table 51820") {
                try $0.ip("route add default via \(NetworkNamespace.streetAddress) table 51820")
            },
            Step("remove", false, "no default route") {
                try $0.ip("route del default table 51820")
            }),
        Story(
            "IPv6 alone",
            Step("add", true, online) {
                try $0.ip("route add default via \(NetworkNamespace.streetAddressIPv6)")
            },
            Step("remove", false, "no default route") {
                try $0.ip("route del default via \(NetworkNamespace.streetAddressIPv6)")
            }),
        Story(
            "two halves",
            Step("add", true, online) {
                try $0.ip("route add 0.0.0.0/1 dev eth0")
                try $0.ip("route add 128.0.0.0/1 dev eth0")
            },
            Step("remove one", false, "no default route") {
                try $0.ip("route del 128.0.0.0/1 dev eth0")
            }),
        Story(
            "a blackhole before the way out",
            Step("add", true, online) {
                try $0.ip(
                    "route add default via \(NetworkNamespace.streetAddress) metric 200")
            },
            Step("close", false, "the default route in table main is a blackhole") {
                try $0.ip("route add blackhole default metric 100")
            },
            Step("open", true, online) { try $0.ip("route del blackhole default metric 100") }),
        Story(
            "several next hops",
            Step("add", true, online) {
                try $0.ip(
                    "route add default nexthop via \(NetworkNamespace.streetAddress)"
                        + " nexthop via 10.77.0.3")
            },
            Step("remove", false, "no default route") { try $0.disconnect() }),
        Story(
            "a next hop of its own goes, and the route with it",
            Step("add", true, online) {
                try $0.ip("nexthop add id 1 via \(NetworkNamespace.streetAddress) dev eth0")
                try $0.ip("route add default nhid 1")
            },
            Step("remove", false, "no default route") { try $0.ip("nexthop del id 1") }),
        Story(
            "a VLAN over a cable that is pulled",
            Step("add", true, "default route over vlan7 in table main") {
                try $0.ip("link add link eth0 name vlan7 type macvlan")
                try $0.ip("link set vlan7 up")
                try $0.ip("route add default dev vlan7")
            },
            Step("pull", false, "default route over vlan7, which has no carrier") {
                try $0.unplug()
            }),
    ]

    /// Probes the network from inside the namespace.
    static func probe(_ network: NetworkNamespace) async throws -> NetworkProbe {
        try await network.enter {
            NetworkProbe(HostTree(root: "/"), routes: .live)
        }
    }

    @Test(arguments: stories)
    func `each change of a network is told and then true`(_ story: Story) async throws {
        let network = try await blocking { try NetworkNamespace() }
        let events = try #require(EventThread.shared)
        #expect(
            try await Self.probe(network).connected
                == Reading(false, source: "rtnetlink: no default route"))

        for step in story.steps {
            var changes = try await network.enter { events.elements(of: KernelEvents.sources()) }
                .makeAsyncIterator()

            try await blocking { try step.make(network) }

            // An event may come before the change is complete; then another event follows.
            var connected = Reading.unknown("nothing was told")
            while connected != step.connected, await changes.next() != nil {
                connected = try await Self.probe(network).connected
            }
            #expect(connected == step.connected, "\(step.change)")
        }
    }

    @Test func `a change of the rules is told`() async throws {
        let network = try await blocking { try NetworkNamespace() }
        let events = try #require(EventThread.shared)
        var changes = try await network.enter { events.elements(of: KernelEvents.sources()) }
            .makeAsyncIterator()

        try await blocking { try network.ip("rule add from 10.9.0.0/16 table 77") }
        let element: Void? = await changes.next()

        #expect(element != nil)
    }

    @Test func `a virtual cable is wired`() async throws {
        let network = try await blocking { try NetworkNamespace() }
        try await blocking { try network.connect() }

        let probe = try await Self.probe(network)

        #expect(probe.metered == Reading(false, source: "eth0 is wired"))
        #expect(probe.roaming == Reading(false, source: "eth0 is wired"))
    }

    @Test func `a program can run there`() async throws {
        let network = try await blocking { try NetworkNamespace() }
        let command = network.command("/bin/ls", ["/sys/class/net"])

        let result = try await ChildProgram.run(command.program, command.arguments)

        #expect(result.status == 0, "\(result.errors)")
        #expect(result.outputLines.contains("eth0"))
        #expect(!result.outputLines.contains("eth1"))
    }

    @Test func `only the kernel is believed when it tells of a power supply`() async throws {
        let network = try await blocking { try NetworkNamespace() }

        let (heard, wasReceived) = try await network.enter {
            let listener = DeviceSockets.listener()
            let forger = DeviceSockets.sender()
            defer { [listener, forger].forEach { close($0) } }
            let forged = KernelEventsTests.battery
            let sent = DeviceSockets.send(forged, from: forger)
            let feed = KernelEvents.Feed(
                descriptor: listener, kind: .netlink(matters: KernelEvents.isPowerSupply))
            return (KernelEvents.hasNews(feed), sent == forged.count)
        }

        #expect(wasReceived)
        #expect(!heard)
    }
}
