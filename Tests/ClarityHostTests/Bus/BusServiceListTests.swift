import ClarityScheduler
import Testing

@testable import ClarityHost

// Tests the list of a service, whose objects come and go.
extension BusServiceTests {
    private static func room(_ name: String) -> BusRequest {
        BusRequest(
            service: "org.rooms", destination: ":1.1",
            question: .properties(BusObject(path: name, interface: "org.room")))
    }

    private static let roomsAsked = BusRequest(
        service: "org.rooms", destination: ":1.1", question: .list)

    @Test func `objects that are listed are asked, and told when all have answered`() {
        var service = Self.present(Self.rooms)

        let requests = service.receive(
            .reply(to: Self.roomsAsked, .paths(["/a", "/b"])), at: Self.moment(1))
        _ = service.receive(
            .reply(to: Self.room("/a"), .properties(["Light": .truth(true)])), at: Self.moment(2))
        let half = service.objects()
        _ = service.receive(
            .reply(to: Self.room("/b"), .properties(["Light": .truth(false)])), at: Self.moment(3))

        #expect(Set(requests) == [Self.room("/a"), Self.room("/b")])
        #expect(half == .silent(reason: "Rooms has not answered yet", last: nil))
        #expect(
            service.objects()
                == .answered(
                    ServiceReading(
                        value: [
                            "/a": ["org.room": ["Light": .truth(true)]],
                            "/b": ["org.room": ["Light": .truth(false)]],
                        ], source: "Rooms", at: Instant(secondsSince1970: 1))))
    }

    @Test func `an empty list is an answer`() {
        var service = Self.present(Self.rooms)

        _ = service.receive(.reply(to: Self.roomsAsked, .paths([])), at: Self.moment(1))

        #expect(service.objects().value == [:])
    }

    @Test func `an object that is gone before it is asked does not count`() {
        var service = Self.present(Self.rooms)
        _ = service.receive(.reply(to: Self.roomsAsked, .paths(["/a"])), at: Self.moment(1))

        _ = service.receive(
            .reply(to: Self.room("/a"), .refused("org.freedesktop.DBus.Error.UnknownObject")),
            at: Self.moment(1))

        #expect(service.objects().value == [:])
    }

    @Test func `an announcement of a new object has the list asked again, and only the new asked`()
    {
        var service = Self.present(Self.rooms)
        _ = service.receive(.reply(to: Self.roomsAsked, .paths(["/a"])), at: Self.moment(1))
        _ = service.receive(
            .reply(to: Self.room("/a"), .properties(["Light": .truth(true)])), at: Self.moment(1))

        let place = BusObject(path: "/rooms", interface: "org.rooms")
        let requests = service.receive(
            .signal(sender: ":1.1", place, member: "New"), at: Self.moment(2))
        let strange = service.receive(
            .signal(sender: ":1.9", place, member: "New"), at: Self.moment(2))
        let other = service.receive(
            .signal(sender: ":1.1", place, member: "Other"), at: Self.moment(2))
        let more = service.receive(
            .reply(to: Self.roomsAsked, .paths(["/a", "/b"])), at: Self.moment(2))

        #expect(requests == [Self.roomsAsked])
        #expect(strange == [] && other == [])
        #expect(more == [Self.room("/b")])
    }

    @Test func `an object that has not answered yet leaves what is known of the others`() {
        var service = Self.present(Self.rooms)
        _ = service.receive(.reply(to: Self.roomsAsked, .paths(["/a"])), at: Self.moment(1))
        _ = service.receive(
            .reply(to: Self.room("/a"), .properties(["Light": .truth(true)])), at: Self.moment(1))

        _ = service.receive(.reply(to: Self.roomsAsked, .paths(["/a", "/b"])), at: Self.moment(2))
        let waiting = service.objects()

        #expect(
            waiting
                == .silent(
                    reason: "Rooms has not answered yet",
                    last: ServiceReading(
                        value: ["/a": ["org.room": ["Light": .truth(true)]]], source: "Rooms",
                        at: Instant(secondsSince1970: 1))))
    }

    @Test func `an object that is not listed any more is forgotten`() {
        var service = Self.present(Self.rooms)
        _ = service.receive(.reply(to: Self.roomsAsked, .paths(["/a"])), at: Self.moment(1))
        _ = service.receive(
            .reply(to: Self.room("/a"), .properties(["Light": .truth(true)])), at: Self.moment(1))

        _ = service.receive(.reply(to: Self.roomsAsked, .paths([])), at: Self.moment(2))

        #expect(service.objects().value == [:])
    }

    @Test func `a whole tree is known from one answer, and its changes count`() {
        var service = Self.present(Self.tree)
        let asked = BusRequest(service: "org.tree", destination: ":1.1", question: .list)
        let leaf = BusObject(path: "/tree/leaf", interface: "org.leaf")

        _ = service.receive(
            .reply(to: asked, .tree(["/tree/leaf": ["org.leaf": ["Green": .truth(true)]]])),
            at: Self.moment(1))
        let spring = service.objects().value
        let known = service.receive(
            .changed(sender: ":1.1", leaf, ["Green": .truth(false)], isComplete: true),
            at: Self.moment(2))
        let new = service.receive(
            .changed(
                sender: ":1.1", BusObject(path: "/tree/new", interface: "org.leaf"),
                ["Green": .truth(true)], isComplete: true), at: Self.moment(2))

        #expect(spring == ["/tree/leaf": ["org.leaf": ["Green": .truth(true)]]])
        #expect(
            service.objects().value == ["/tree/leaf": ["org.leaf": ["Green": .truth(false)]]])
        #expect(known == [] && new == [asked])
    }
}
