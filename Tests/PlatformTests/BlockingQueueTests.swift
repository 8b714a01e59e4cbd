import Platform
import Synchronization
import Testing

@Suite struct BlockingQueueTests {
    /// Collects the elements that any thread has taken.
    private final class Basket: Sendable {
        let taken = Mutex<[Int]>([])

        func takeAll(_ handover: BlockingQueue<Int>) {
            while let element = handover.take() { taken.withLock { $0.append(element) } }
        }
    }

    @Test func `elements arrive in their order, all of them, with room for one`() throws {
        let handover = BlockingQueue<Int>(room: 1)
        let basket = Basket()

        try withThreads([{ basket.takeAll(handover) }], cancel: handover.cancel) {
            for number in 0..<10_000 { #expect(handover.put(number)) }
            handover.finish()
        }

        #expect(basket.taken.withLock { $0 } == Array(0..<10_000))
    }

    @Test func `no more than there is room for is under way`() throws {
        let handover = BlockingQueue<Int>(room: 3)
        let put = Atomic(0)

        try withThreads(
            [{ while handover.put(1) { put.add(1, ordering: .relaxed) } }], cancel: handover.cancel
        ) {
            // The producer adds one element for each that is taken.
            for _ in 0..<1000 { _ = handover.take() }
            let ahead = put.load(ordering: .relaxed) - 1000
            #expect(ahead <= 3, "\(ahead)")
            handover.cancel()
        }

        #expect(put.load(ordering: .relaxed) <= 1003)
    }

    @Test func `what waits is still taken after the end, and nothing more is put`() {
        let handover = BlockingQueue<Int>(room: 2)
        _ = handover.put(1)
        _ = handover.put(2)

        handover.finish()

        #expect(handover.put(3) == false)
        #expect([handover.take(), handover.take(), handover.take()] == [1, 2, nil])
    }

    @Test func `a cancellation drops what waits and lets go whoever waits`() throws {
        let full = BlockingQueue<Int>(room: 1)
        let empty = BlockingQueue<Int>(room: 1)
        _ = full.put(1)
        let refused = Mutex<Bool?>(nil)
        let missing = Mutex<Int??>(nil)

        try withThreads(
            [
                {
                    let isPut = full.put(2); refused.withLock { $0 = !isPut }
                },
                {
                    let element = empty.take(); missing.withLock { $0 = .some(element) }
                },
            ], cancel: {}
        ) {
            full.cancel()
            empty.cancel()
        }

        #expect(refused.withLock { $0 } == true)
        #expect(missing.withLock { $0 } == .some(nil))
        #expect(full.take() == nil)
    }

    @Test func `threads have ended when their body is left, by an error too`() {
        struct Broken: Error {}
        let handover = BlockingQueue<Int>(room: 1)
        let ended = Atomic(0)

        #expect(throws: Broken.self) {
            try withThreads(
                [
                    {
                        _ = handover.take(); ended.add(1, ordering: .relaxed)
                    },
                    {
                        _ = handover.take(); ended.add(1, ordering: .relaxed)
                    },
                ], cancel: handover.cancel
            ) {
                handover.cancel()
                throw Broken()
            }
        }

        #expect(ended.load(ordering: .relaxed) == 2)
    }
}
