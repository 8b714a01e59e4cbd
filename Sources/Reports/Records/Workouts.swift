import HealthStore
import JSON

/// A workout of the archive: its sums are in its metadata, as its source wrote them.
struct Workout {
    struct Figure: Hashable {
        let value: Double
        let unit: String
    }

    /// The activity as the source names it, such as `HKWorkoutActivityTypeRunning`.
    let activity: String
    /// Seconds since 1970.
    let start: Int64
    let end: Int64
    let energy: Figure?
    let distance: Figure?
    /// The mean heart rate.
    let heart: Figure?

    var minutes: Double { Double(end - start) / 60 }

    init(_ row: RecordRow) {
        (activity, start, end) = (row.value ?? "", row.at, row.end)
        let statistics = Workout.statistics(row.metadata)
        func figure(_ field: String, _ types: String...) -> Figure? {
            for type in types {
                let found = statistics.first { $0["type"]?.text?.hasSuffix(type) ?? false }
                guard let text = found?[field]?.text, let value = Double(text), value.isFinite
                else { continue }
                return Figure(value: value, unit: found?["unit"]?.text ?? "")
            }
            return nil
        }
        energy = figure("sum", "ActiveEnergyBurned")
        distance = figure("sum", "DistanceWalkingRunning", "DistanceCycling", "DistanceSwimming")
        heart = figure("average", "IdentifierHeartRate")
    }

    private static func statistics(_ metadata: JSON?) -> [JSON] {
        guard let written = metadata?["WorkoutStatistics"]?.text else { return [] }
        do throws(JSONFault) {
            guard case .array(let list) = try JSONParser.parse(Array(written.utf8)) else {
                return []
            }
            return list
        } catch {
            // What another program wrote there is shown as not there.
            return []
        }
    }
}

extension HealthReader {
    /// Returns the single records that start in days, of all types that a name means; `nil` if there
    /// are too many.
    func singleRecords(
        _ name: String, in days: ClosedRange<Int>, _ report: inout HealthReport
    ) throws(HealthStoreError) -> [RecordRow]? {
        var local = LocalDays(zone: zone)
        let span = local.day(days.lowerBound).start..<local.day(days.upperBound).end
        var rows: [RecordRow] = []
        for type in try store.archive.types() where type.isMeant(by: name) {
            let count = rows.count
            guard try read(type, by: .raw, in: span, &rows, &report) else { return nil }
            if rows.count > count {
                report.counts["records of \(type.shortName)"] = Int64(rows.count - count)
            }
        }
        return rows
    }
}
