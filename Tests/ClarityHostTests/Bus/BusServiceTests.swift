import ClarityScheduler
import Testing

@testable import ClarityHost

@Suite struct BusServiceTests {
    private static let place = BusObject(path: "/house", interface: "org.house")
    private static let house = BusSubscription(
        title: "House", service: "org.house", objects: [place: ["Light"]])
    static let rooms = BusSubscription(
        title: "Rooms", service: "org.rooms",
        list: BusSubscription.List(
            path: "/rooms", interface: "org.rooms", member: "List",
            layout: .paths(leading: "s"), signals: ["New"], wanted: ["org.room": ["Light"]]))
    static let tree = BusSubscription(
        title: "Tree", service: "org.tree",
        list: BusSubscription.List(
            path: "/tree", interface: "org.tree", member: "All", layout: .tree, signals: ["New"],
            wanted: ["org.leaf": ["Green"]]))

    private static let asked = BusRequest(
        service: "org.house", destination: ":1.1", question: .properties(place))

    static func moment(_ seconds: Int64) -> Moment {
        Moment(wall: Instant(secondsSince1970: seconds), elapsed: .seconds(seconds))
    }

    /// Makes a service of which the bus said at second 0 that connection `:1.1` owns its name.
    static func present(_ subscription: BusSubscription) -> BusService {
        var service = BusService(subscription)
        _ = service.connected(at: moment(0))
        _ = service.receive(.owner(service: subscription.service, ":1.1"), at: moment(0))
        return service
    }

    /// Makes a service that said at second 0 that the light is on.
    private static func lit() -> BusService {
        var service = present(house)
        _ = service.receive(
            .reply(to: asked, .properties(["Light": .truth(true)])), at: moment(0))
        return service
    }

    private static func light(_ service: BusService) -> ServiceAnswer<Bool> {
        service.properties(of: place)
            .understood { properties throws(Misunderstood) in try properties.truth("Light") }
    }

    private static func told(_ value: Bool, at seconds: Int64) -> ServiceReading<Bool> {
        ServiceReading(value: value, source: "House", at: Instant(secondsSince1970: seconds))
    }

    // MARK: Presence

    @Test func `without a bus, a service is unavailable`() {
        let service = BusService(Self.house)

        #expect(Self.light(service) == .unavailable(reason: "no bus was looked for"))
        #expect(service.isSettled)
    }

    @Test func `the bus is asked who has its name, and nobody else anything`() {
        var service = BusService(Self.house)

        let requests = service.connected(at: Self.moment(0))

        #expect(
            requests == [
                BusRequest(
                    service: "org.house", destination: "org.freedesktop.DBus", question: .owner)
            ])
        #expect(
            Self.light(service)
                == .silent(reason: "the system bus has not answered yet", last: nil))
        #expect(!service.isSettled)
    }

    @Test func `a service that does not run is unavailable`() {
        var service = BusService(Self.house)
        let requests = service.connected(at: Self.moment(0))

        let more = requests.flatMap { request in
            service.receive(
                .reply(to: request, .refused("org.freedesktop.DBus.Error.NameHasNoOwner")),
                at: Self.moment(0))
        }

        #expect(more == [])
        #expect(Self.light(service) == .unavailable(reason: "House does not run"))
        #expect(service.isSettled)
    }

    @Test func `a service that runs is asked under its connection's own name`() {
        var service = BusService(Self.house)
        let requests = service.connected(at: Self.moment(0))

        let more = requests.flatMap { request in
            service.receive(.reply(to: request, .owner(":1.1")), at: Self.moment(0))
        }

        #expect(more == [Self.asked])
        #expect(
            Self.light(service) == .silent(reason: "House has not answered yet", last: nil))
    }

    @Test func `an answer is known with its time`() {
        #expect(Self.light(Self.lit()) == .answered(Self.told(true, at: 0)))
        #expect(Self.lit().isSettled)
    }

    @Test func `a service that ends is silent, with its last answer`() {
        var service = Self.lit()

        _ = service.receive(.owner(service: "org.house", nil), at: Self.moment(1))

        #expect(
            Self.light(service)
                == .silent(reason: "House does not run", last: Self.told(true, at: 0)))
    }

    @Test func `a restarted service is asked again, and its last answer stays`() {
        var service = Self.lit()

        let requests = service.receive(.owner(service: "org.house", ":1.2"), at: Self.moment(1))

        #expect(requests.map(\.destination) == [":1.2"])
        #expect(
            Self.light(service)
                == .silent(reason: "House has not answered yet", last: Self.told(true, at: 0)))
    }

    @Test func `a bus that ends takes its services along`() {
        var service = Self.lit()

        service.disconnected(reason: "no system bus: it hung up")

        #expect(
            Self.light(service)
                == .silent(reason: "no system bus: it hung up", last: Self.told(true, at: 0)))
        #expect(service.isSettled && service.nextDeadline == nil)
    }

    // MARK: Announcements

    @Test func `a change that a service announces counts at once`() {
        var service = Self.lit()

        let requests = service.receive(
            .changed(sender: ":1.1", Self.place, ["Light": .truth(false)], isComplete: true),
            at: Self.moment(5))

        #expect(requests == [])
        #expect(Self.light(service) == .answered(Self.told(false, at: 5)))
    }

    @Test(arguments: [
        ("a stranger", ":1.9"), ("nobody", ""), ("the name itself", "org.house"),
    ])
    func `a change that another process announces is ignored`(who: String, sender: String) {
        var service = Self.lit()

        let requests = [true, false].flatMap { isComplete in
            service.receive(
                .changed(
                    sender: sender, Self.place, ["Light": .truth(false)], isComplete: isComplete),
                at: Self.moment(5))
        }

        #expect(requests == [])
        #expect(Self.light(service) == .answered(Self.told(true, at: 0)))
    }

    @Test func `a change of a service that does not run is ignored`() {
        var service = Self.lit()
        _ = service.receive(.owner(service: "org.house", nil), at: Self.moment(1))

        let requests = service.receive(
            .changed(sender: "", Self.place, ["Light": .truth(false)], isComplete: false),
            at: Self.moment(5))

        #expect(requests == [])
        #expect(
            Self.light(service)
                == .silent(reason: "House does not run", last: Self.told(true, at: 0)))
    }

    @Test func `an answer of the service's former process does not count`() {
        var service = Self.present(Self.house)
        _ = service.receive(.owner(service: "org.house", ":1.2"), at: Self.moment(1))

        _ = service.receive(
            .reply(to: Self.asked, .properties(["Light": .truth(true)])), at: Self.moment(1))

        #expect(
            Self.light(service) == .silent(reason: "House has not answered yet", last: nil))
    }

    @Test func `a change without its value is asked for, once until it is answered`() {
        var service = Self.lit()
        let change = BusEvent.changed(sender: ":1.1", Self.place, [:], isComplete: false)

        let first = service.receive(change, at: Self.moment(5))
        let second = service.receive(change, at: Self.moment(5))

        #expect(first == [Self.asked])
        #expect(second == [])
    }

    @Test(arguments: [
        (
            BusReply.refused("org.freedesktop.DBus.Error.AccessDenied"),
            "House: org.freedesktop.DBus.Error.AccessDenied"
        ),
        (.refused("a\nb\u{1B}[2J"), "House: a<U+000A>b<U+001B>[2J"),
        (.garbled, "House: an answer of another form"),
        (.paths([]), "House: an answer of another form"),
        (.properties([:]), "House: it does not say `Light`"),
        (.properties(["Light": .number(1)]), "House: 1 is neither true nor false"),
        (.properties(["Light": .text("\u{7}")]), "House: `<U+0007>` is neither true nor false"),
    ])
    func `a faulty answer is unknown, with the reason`(reply: BusReply, reason: String) {
        var service = Self.present(Self.house)

        _ = service.receive(.reply(to: Self.asked, reply), at: Self.moment(1))

        #expect(Self.light(service) == .unknown(reason: reason))
    }

    // MARK: Timeouts

    @Test func `a service that does not answer in time is silent`() {
        var service = Self.present(Self.house)
        let deadline = service.nextDeadline

        service.expired(at: Self.moment(1))
        let early = service.isSettled
        service.expired(at: Self.moment(2))

        #expect(deadline == .seconds(2))
        #expect(!early && service.isSettled && service.nextDeadline == nil)
        #expect(Self.light(service) == .silent(reason: "House does not answer", last: nil))
    }

    @Test func `an answer that comes late counts all the same`() {
        var service = Self.present(Self.house)
        service.expired(at: Self.moment(2))

        _ = service.receive(
            .reply(to: Self.asked, .properties(["Light": .truth(true)])), at: Self.moment(30))

        #expect(Self.light(service) == .answered(Self.told(true, at: 30)))
    }

    @Test func `what was said a minute ago is asked again, and counts meanwhile`() {
        var service = Self.lit()

        let early = service.refreshed(at: Self.moment(59))
        let late = service.refreshed(at: Self.moment(60))
        let again = service.refreshed(at: Self.moment(61))

        #expect(early == [] && again == [])
        #expect(late == [Self.asked])
        #expect(Self.light(service) == .answered(Self.told(true, at: 0)))
    }

    @Test func `a service that does not confirm is silent, with what it said last`() {
        var service = Self.lit()
        _ = service.refreshed(at: Self.moment(60))

        service.expired(at: Self.moment(62))

        #expect(
            Self.light(service)
                == .silent(reason: "House does not answer", last: Self.told(true, at: 0)))
    }

    @Test func `a silent service that announces something is asked at once`() {
        var service = Self.present(Self.house)
        service.expired(at: Self.moment(2))

        let requests = service.receive(
            .changed(sender: ":1.1", Self.place, ["Light": .truth(false)], isComplete: true),
            at: Self.moment(5))

        #expect(requests == [Self.asked])
    }

    @Test func `a bus that does not answer makes its services silent`() {
        var service = BusService(Self.house)
        _ = service.connected(at: Self.moment(0))

        service.expired(at: Self.moment(2))

        #expect(
            Self.light(service) == .silent(reason: "the system bus does not answer", last: nil))
        #expect(service.refreshed(at: Self.moment(60)).map(\.question) == [.owner])
    }
}
