import Testing

@Suite("What is broken in a run follows from its seed")
struct ChaosPlanTests {
    @Test func `the parts draw each their own, and the same again`() {
        func draws(_ part: String) -> [UInt64] {
            var generator = ChaosPlan.current.generator(part)
            return (0..<3).map { _ in generator.next() }
        }

        #expect(draws("kill") == draws("kill"))
        #expect(draws("kill") != draws("crowd"))
    }

    @Test func `what a part does not look at is no zero`() {
        let line = ChaosLine("leaks", measures: [.crashes])

        #expect(line.description.contains(" lost=- doubled=- stuck=- crashes=0"))
    }

    @Test func `a line has what struck in a fixed order`() {
        var line = ChaosLine("kill")
        line.rounds = 24
        line.faults = ["worker": 11, "scheduler": 13]
        line.doubled = 1

        #expect(
            line.description
                == """
                chaos: part=kill seed=\(ChaosPlan.current.seed) rounds=24 lost=0 doubled=1 stuck=0 \
                crashes=0 scheduler=13 worker=11
                """)
    }
}
