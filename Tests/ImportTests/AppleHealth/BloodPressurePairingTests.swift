import HealthModel
import HealthStore
import ClarityScheduler
import Testing

@testable import Import

@Suite struct BloodPressurePairingTests {
    private typealias Half = BloodPressurePairing.Reading

    private func half(
        _ half: BloodPressurePairing.Half, _ value: Int, at start: Int64 = 100,
        source: String? = "Cuff"
    ) -> Half {
        Half(half: half, source: source, start: start, end: start, value: value)
    }

    private func resolve(
        _ pairing: BloodPressurePairing
    ) -> (counts: BloodPressurePairing.Counts, pairs: [String]) {
        var pairing = pairing
        var pairs: [String] = []
        let counts = pairing.resolve { sample, _ in
            pairs.append("\(sample.start.secondsSince1970) \(sample.canonicalValue)")
        }
        return (counts, pairs)
    }

    @Test func `without a correlation equal source and start make a pair`() {
        var pairing = BloodPressurePairing()
        let kept = [
            half(.systolic, 120, at: 100), half(.systolic, 130, at: 200),
            half(.diastolic, 80, at: 200), half(.diastolic, 70, at: 100),
        ].map { pairing.add($0) }

        let (counts, pairs) = resolve(pairing)

        #expect(kept == [true, true, true, true])
        #expect(pairs == ["100 120/70", "200 130/80"])
        #expect(counts.unpaired == 0)
    }

    @Test func `two readings of one minute are told apart by their correlations`() {
        var pairing = BloodPressurePairing()
        let halves = [
            half(.systolic, 120), half(.systolic, 130), half(.diastolic, 80), half(.diastolic, 70),
        ]
        let kept = halves.map { pairing.add($0) }
        let tied = [
            pairing.correlate(systolic: halves[0], diastolic: halves[3]),
            pairing.correlate(systolic: halves[1], diastolic: halves[2]),
        ]

        let (counts, pairs) = resolve(pairing)

        #expect(kept.allSatisfy { $0 } && tied.allSatisfy { $0 })
        #expect(pairs == ["100 120/70", "100 130/80"])
        #expect(counts.pairs == 2)
        #expect(counts.takenFromCorrelations == 0)
    }

    @Test func `another source, another start and a half alone stay without a partner`() {
        var pairing = BloodPressurePairing()
        let kept = [
            half(.systolic, 120, source: "Cuff"), half(.diastolic, 80, source: "Phone"),
            half(.systolic, 120, at: 200), half(.diastolic, 80, at: 201),
            half(.diastolic, 80, at: 300),
        ].map { pairing.add($0) }

        let (counts, pairs) = resolve(pairing)

        #expect(kept.allSatisfy { $0 })
        #expect(pairs == [])
        #expect(counts.unpaired == 5)
    }

    @Test func `a correlation whose halves the top level lacks is taken for itself`() {
        var pairing = BloodPressurePairing()
        let isKept = pairing.add(half(.systolic, 120))
        let isTied = pairing.correlate(
            systolic: half(.systolic, 120), diastolic: half(.diastolic, 80))

        let (counts, pairs) = resolve(pairing)

        #expect(isKept && isTied)
        #expect(pairs == ["100 120/80"])
        #expect(counts.takenFromCorrelations == 1)
    }

    @Test func `beyond its capacity nothing is kept`() {
        var pairing = BloodPressurePairing(capacity: 2)

        let kept = (0..<3).map { pairing.add(half(.systolic, 120, at: $0)) }
        let tied = (0..<2).map { _ in
            pairing.correlate(systolic: half(.systolic, 120), diastolic: half(.diastolic, 80))
        }

        #expect(kept == [true, true, false])
        #expect(tied == [true, false])
    }
}
