import HealthModel
import ClarityScheduler

/// Puts the two halves of a blood pressure together.
///
/// An export has the halves as two records at the top level, and once more, together, in a
/// Correlation. The order of the three varies, and two readings in the same minute have the same
/// dates, so only the Correlation says which halves belong together. The halves therefore wait
/// until the text has ended. Then each Correlation takes its two, and the others are paired by
/// source and start, the lowest with the lowest, whatever their order in the text. A half that has
/// no partner then is not a blood pressure.
///
/// At most `capacity` halves wait, and half as many Correlations. 131,072 halves are 65,536
/// readings, 17 years of ten a day, in some 15 MB.
struct BloodPressurePairing {
    enum Half: Hashable {
        case systolic
        case diastolic
    }

    struct Reading: Hashable {
        var half: Half
        var source: String?
        var start: Int64
        var end: Int64
        var value: Int
    }

    struct Counts {
        /// The samples that were made.
        var pairs: Int64 = 0
        /// The readings of those samples that only a Correlation contained.
        var takenFromCorrelations: Int64 = 0
        /// The readings that found no partner.
        var unpaired: Int64 = 0
    }

    private struct Moment: Hashable {
        var source: String?
        var start: Int64
    }

    private let capacity: Int
    private var readings: [Reading] = []
    private var correlations: [(systolic: Reading, diastolic: Reading)] = []

    init(capacity: Int = 131_072) { self.capacity = capacity }

    /// Keeps a reading of the top level; returns `false` if too many wait.
    mutating func add(_ reading: Reading) -> Bool {
        guard readings.count < capacity else { return false }
        readings.append(reading)
        return true
    }

    /// Keeps the two readings of a Correlation; returns `false` if too many wait.
    mutating func correlate(systolic: Reading, diastolic: Reading) -> Bool {
        guard correlations.count < capacity / 2 else { return false }
        correlations.append((systolic, diastolic))
        return true
    }

    /// Passes the samples to `each` and forgets all readings.
    mutating func resolve(_ each: SampleHandler) rethrows -> Counts {
        var counts = Counts()
        var places: [Reading: [Int]] = [:]
        // In reverse, so that the earliest one is last and `popLast` returns it first.
        for (place, reading) in readings.enumerated().reversed() {
            places[reading, default: []].append(place)
        }
        var isTaken = [Bool](repeating: false, count: readings.count)
        for (systolic, diastolic) in correlations {
            for reading in [systolic, diastolic] {
                if let place = places[reading]?.popLast() {
                    isTaken[place] = true
                } else {
                    counts.takenFromCorrelations += 1
                }
            }
            counts.pairs += 1
            try each(BloodPressurePairing.sample(systolic, diastolic), .measurement)
        }

        var partners: [Moment: [Reading]] = [:]
        let others = readings.indices.filter { !isTaken[$0] }.map { readings[$0] }
            .sorted { ($0.start, $0.value, $0.end) < ($1.start, $1.value, $1.end) }
        for reading in others.reversed() where reading.half == .diastolic {
            partners[Moment(source: reading.source, start: reading.start), default: []]
                .append(reading)
            counts.unpaired += 1
        }
        for reading in others where reading.half == .systolic {
            let moment = Moment(source: reading.source, start: reading.start)
            if let partner = partners[moment]?.popLast() {
                counts.unpaired -= 1
                counts.pairs += 1
                try each(BloodPressurePairing.sample(reading, partner), .measurement)
            } else {
                counts.unpaired += 1
            }
        }
        readings = []
        correlations = []
        return counts
    }

    private static func sample(_ systolic: Reading, _ diastolic: Reading) -> Sample {
        Sample(
            kind: .bloodPressure, start: Instant(secondsSince1970: systolic.start),
            end: Instant(secondsSince1970: max(systolic.end, diastolic.end)),
            value: .pressure(systolic: systolic.value, diastolic: diastolic.value),
            source: systolic.source)
    }
}
