import Platform
import Synchronization
import Testing

@testable import clarity_jobs

@Suite("What a scheduler writes")
struct MessageQueueTests {
    /// What was written, and what holds the writing up.
    private final class Paper: Sendable {
        let lines = Mutex<[String]>([])
        let isReadable = Latch()

        func write(_ text: String, _ descriptor: Int32) {
            while !isReadable.isOpen(within: 1000) {}
            lines.withLock { $0.append("\(descriptor) \(text)") }
        }
    }

    @Test func `messages and results come in their order`() {
        let paper = Paper()
        paper.isReadable.open()
        let queue = MessageQueue { paper.write($0, $1) }

        for number in 0..<100 { queue.put("\(number)\n", isResult: number % 2 == 0) }
        queue.finish(within: .seconds(60))

        #expect(
            paper.lines.withLock(\.self) == (0..<100).map { "\($0 % 2 == 0 ? 1 : 2) \($0)\n" })
    }

    @Test func `what nobody reads holds nobody up, and is dropped with a count`() {
        let paper = Paper()
        let queue = MessageQueue { paper.write($0, $1) }
        let long = String(repeating: "x", count: 1023) + "\n"

        // Returns although nothing can be written.
        for _ in 0..<300 { queue.put(long, isResult: false) }
        queue.finish(within: .zero)
        queue.put("result\n", isResult: true)
        paper.isReadable.open()
        queue.finish(within: .seconds(60))

        let lines = paper.lines.withLock(\.self)
        // The first one may have been taken before the others came.
        let kept = lines.count { $0.hasSuffix("x\n") }
        #expect([256, 257].contains(kept))
        #expect(lines.contains("1 result\n"))
        #expect(
            lines.contains(
                "2 clarity-jobs: \(300 - kept) messages were dropped: nobody read standard error in "
                    + "time\n"))
    }
}
