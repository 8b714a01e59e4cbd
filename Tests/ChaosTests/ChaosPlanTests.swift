import Testing

@Suite("The seed decides what a chaos run breaks")
struct ChaosPlanTests {
    @Test func `each part draws numbers of its own, and the same ones each time`() {
        func draws(_ part: String) -> [UInt64] {
            var generator = ChaosPlan.current.generator(part)
            return (0..<3).map { _ in generator.next() }
        }

        #expect(draws("kill") == draws("kill"))
        #expect(draws("kill") != draws("crowd"))
    }

    @Test func `a count that a part does not take is a dash and no zero`() {
        let line = ChaosLine("leaks", measures: [.crashes])

        #expect(line.description.contains(" lost=- doubled=- stuck=- crashes=0"))
    }

    @Test func `a result line lists the faults in a fixed order`() {
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
