import HealthStore
import HealthModel
import ClarityScheduler
import Platform
import JSON

/// Makes a sample of each workout of an export.
///
/// A workout is one value that an app computes from everything that it knows: a later export
/// replaces it. Its length, distance and energy are sent; the archive keeps all else.
struct WorkoutMapping {
    /// The most workouts of one export.
    private static let most = 65_536
    private static let distances = "HKQuantityTypeIdentifierDistance"
    private static let energy = "HKQuantityTypeIdentifierActiveEnergyBurned"

    private var found: [Sample] = []

    /// The workouts in an order that is not the text's. Of several of the same source and time, the
    /// one with the most energy comes last, so that it is the one that stays.
    var samples: [Sample] {
        func order(_ sample: Sample) -> [Double] {
            guard case .values(let values) = sample.value else { return [] }
            let measures: [Measure] = [.activeEnergy, .distance, .activeMinutes]
            return [
                Double(sample.start.secondsSince1970), Double(sample.end.secondsSince1970),
            ] + measures.map { values.numbers[$0] ?? -1 }
        }
        return found.sorted { a, b in
            let (first, second) = (order(a), order(b))
            return first == second
                ? a.canonicalValue < b.canonicalValue : first.lexicographicallyPrecedes(second)
        }
    }

    /// Adds a workout.
    mutating func add(_ workout: UnplacedRecord, now: Int64) throws(RecordRefusal) {
        let (start, end) = (workout.record.start, workout.record.end)
        guard start <= end else { throw .endBeforeStart }
        guard start <= now else { throw .inFuture }
        guard let name = workout.value, !name.isEmpty else { throw .noType }
        guard found.count < WorkoutMapping.most else { throw .tooManyWorkouts }
        let type = String(decoding: name, as: UTF8.self)
            .prefix(bytes: InternTable<String>.longest)
        var values = MeasuredValues([:], text: type)
        values.numbers[.activeMinutes] =
            workout.number("duration", in: "durationUnit", as: .exerciseMinutes)
            ?? Double(end - start) / 60
        values.numbers[.distance] =
            workout.number("totalDistance", in: "totalDistanceUnit", as: .distance)
            ?? workout.sum(.distance) { $0.hasPrefix(WorkoutMapping.distances) }
        values.numbers[.activeEnergy] =
            workout.number("totalEnergyBurned", in: "totalEnergyBurnedUnit", as: .activeEnergy)
            ?? workout.sum(.activeEnergy) { $0 == WorkoutMapping.energy }
        found.append(
            Sample(
                kind: .workout, start: Instant(secondsSince1970: start),
                end: Instant(secondsSince1970: end), value: .values(values),
                source: workout.origin.source.map {
                    String($0.prefix(InternTable<String>.longest))
                }))
    }
}

extension UnplacedRecord {
    private func member(_ name: String) -> JSON? { members.first { $0.name == name }?.value }

    /// Returns an attribute of this name, converted from its unit; `nil` if it is no number of at
    /// least 0.
    fileprivate func number(_ name: String, in unit: String, as kind: SampleKind) -> Double? {
        UnplacedRecord.number(member(name)?.text, member(unit)?.text, kind)
    }

    /// Returns the sum of the statistics of these types; `nil` if there is none.
    fileprivate func sum(_ kind: SampleKind, of isWanted: (String) -> Bool) -> Double? {
        guard case .array(let statistics)? = member("\(ExportElement.workoutStatistics.name)")
        else { return nil }
        let numbers = statistics.compactMap { statistic -> Double? in
            guard let type = statistic["type"]?.text, isWanted(type) else { return nil }
            return UnplacedRecord.number(statistic["sum"]?.text, statistic["unit"]?.text, kind)
        }
        return numbers.isEmpty ? nil : numbers.reduce(0, +)
    }

    private static func number(_ text: String?, _ unit: String?, _ kind: SampleKind) -> Double? {
        guard let text, let unit, let conversion = UnitConversion(from: unit, to: kind),
            let number = Array(text.utf8).withUnsafeBufferPointer(DecimalNumber.parse), number >= 0
        else { return nil }
        let value = conversion(number) + 0
        return value.isFinite ? value : nil
    }
}
