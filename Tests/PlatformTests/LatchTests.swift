import Platform
import Testing

@Suite struct LatchTests {
    @Test func `a closed latch is waited for no longer than wanted`() {
        #expect(!Latch().isOpen(within: 0))
        #expect(!Latch().isOpen(within: 1))
    }

    @Test func `an open latch stays open`() {
        let latch = Latch()
        latch.open()

        #expect(latch.isOpen(within: 0))
        #expect(latch.isOpen(within: 60_000))
    }

    @Test func `whoever waits goes on when another thread opens it`() throws {
        let latch = Latch()

        let isOpen = try withThreads([{ latch.open() }], cancel: {}) {
            latch.isOpen(within: 60_000)
        }

        #expect(isOpen)
    }
}
