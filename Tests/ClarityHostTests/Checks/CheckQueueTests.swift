import Testing

@testable import ClarityHost

@Suite struct CheckQueueTests {
    private let ten: [String] = (0...9).map { "c\($0)" }

    @Test func `eight checks run at once, and the others follow in order`() {
        var queue = CheckQueue()

        let first = queue.ask(Set(ten))
        let second = queue.answer("c3", isStuck: false)
        let third = queue.answer("c0", isStuck: false)
        let fourth = queue.answer("c1", isStuck: false)

        #expect(first == CheckQueue.Orders(start: Array(ten[..<8])))
        #expect([second, third, fourth] == [["c8"], ["c9"], []])
    }

    @Test func `a check is asked once at a time`() {
        var queue = CheckQueue()

        let orders = [queue.ask(["a"]), queue.ask(["a", "b"]), queue.ask(["b", "a"])]

        #expect(orders.map(\.start) == [["a"], ["b"], []])
        #expect(queue.answer("a", isStuck: false) == [])
        #expect(queue.ask(["a"]).start == ["a"])
    }

    @Test func `a waiting check is not queued twice`() {
        var queue = CheckQueue()
        _ = queue.ask(Set(ten))

        let again = queue.ask(["c8", "c9"])

        #expect(again == CheckQueue.Orders())
        #expect(queue.answer("c0", isStuck: false) == ["c8"])
        #expect(queue.answer("c8", isStuck: false) == ["c9"])
        #expect(queue.answer("c9", isStuck: false) == [])
    }

    @Test func `an answer is on its way until it is there`() {
        var queue = CheckQueue()
        _ = queue.ask(Set(ten))

        #expect(ten.allSatisfy(queue.isOpen))
        _ = queue.answer("c0", isStuck: false)
        _ = queue.answer("c1", isStuck: true)

        #expect(ten.filter { !queue.isOpen($0) } == ["c0", "c1"])
    }

    @Test func `a check whose process hangs takes no place and is refused until it ends`() {
        var queue = CheckQueue()
        _ = queue.ask(Set(ten))

        let next = queue.answer("c0", isStuck: true)
        let refused = queue.ask(["c0"])
        queue.free("c0")
        let again = queue.ask(["c0"])
        let place = queue.answer("c1", isStuck: false)

        #expect(next == ["c8"])
        #expect(refused == CheckQueue.Orders(refuse: ["c0"]))
        #expect(again == CheckQueue.Orders())
        #expect(place == ["c9"])
        #expect(queue.answer("c9", isStuck: false) == ["c0"])
    }

    @Test func `after the end, no waiting check starts`() {
        var queue = CheckQueue()
        _ = queue.ask(Set(ten))

        queue.end()

        #expect(queue.answer("c0", isStuck: false) == [])
        #expect(!queue.isOpen("c9"))
    }
}
