import Testing

@Suite("The trend of a measured quantity")
struct TrendTests {
    @Test func `jitter does not hide a steady growth`() {
        let points: [(x: Double, y: Double)] = (0..<100).map { step in
            let jitter: Double = step % 2 == 0 ? 3 : -3
            return (Double(step), 5 + Double(step) / 2 + jitter)
        }

        #expect(abs(Trend(points).slope - 0.5) < 0.01)
        #expect(Trend(points).least == 2.5)
    }

    @Test func `a steady leak is a lasting trend, and a buffer that fills up is none`() {
        func slope(_ quantity: (Double) -> Double) -> Double {
            Trend.lasting((0..<100).map { (Double($0), quantity(Double($0))) })
        }

        #expect(abs(slope { 7 + $0 / 2 } - 0.5) < 0.01)
        #expect(abs(slope { $0 < 50 ? 7 : 7 + ($0 - 50) / 2 } - 0.5) > 0.1)
        #expect(slope { $0 < 50 ? 7 : 7 + ($0 - 50) / 2 } > 0.3)
        #expect(abs(slope { min($0, 50) }) < 0.01)
        #expect(Trend([]).slope == 0 && Trend.lasting([]) == 0)
    }

    @Test func `memory that is released again does not count as kept`() {
        func points(_ kept: (Double) -> Double) -> [(x: Double, y: Double)] {
            (0..<100).map { step in
                // Each later busy moment uses more, and all of it is released.
                let used: Double = step % 3 == 0 ? 0 : Double(step) / 2
                return (Double(step), 40 + kept(Double(step)) + used)
            }
        }

        #expect(Trend(points { _ in 0 }).slope > 0.3)
        #expect(Trend.kept(points { _ in 0 }) == 0)
        #expect(abs(Trend.kept(points { $0 / 10 }) - 0.1) < 0.02)
        #expect(Trend.kept([]) == 0 && Trend.kept([(1, 1)]) == 0)
    }

    @Test func `a constant quantity and too few points have no trend`() {
        let still: [(x: Double, y: Double)] = (0..<100).map { step in
            (Double(step), step % 2 == 0 ? 7 : 9)
        }

        #expect(abs(Trend(still).slope) < 0.01)
        #expect(Trend([(x: 1, y: 1)]).slope == 0)
        #expect(Trend([(x: Double, y: Double)]()).slope == 0)
    }
}
