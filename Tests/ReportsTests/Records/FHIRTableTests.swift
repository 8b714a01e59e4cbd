import Foundation
import HealthModel
import Testing

@testable import HealthStore
@testable import Reports

/// The tables of docs/fhir.md, which are made of the codes.
@Suite struct FHIRTableTests {
    private static func code(_ code: FHIRCoding.Code) -> String {
        "[\(code.code)](https://loinc.org/\(code.code)) \(code.display)"
    }

    /// HealthKit's names of the types, by their names in lower case.
    private static let names = Dictionary(
        uniqueKeysWithValues: [
            "ActiveEnergyBurned", "BloodGlucose", "BloodPressure", "BloodPressureDiastolic",
            "BloodPressureSystolic", "BodyFatPercentage", "BodyMass", "BodyMassIndex",
            "BodyTemperature", "DistanceSwimming", "DistanceWalkingRunning", "FlightsClimbed",
            "ForcedExpiratoryVolume1", "ForcedVitalCapacity", "HeartRate",
            "HeartRateVariabilitySDNN", "Height", "LeanBodyMass", "OxygenSaturation",
            "PeripheralPerfusionIndex", "RespiratoryRate", "RestingHeartRate", "StepCount",
            "Workout",
        ].map { ($0.lowercased(), $0) })

    private var types: [String] {
        let rows = FHIRCoding.rows.sorted { $0.key < $1.key }.map { key, row -> String in
            let parts = key.split(separator: " ", maxSplits: 1).map(String.init)
            let name = Self.names[parts[0]] ?? parts[0]
            let full = "HKQuantityTypeIdentifier\(name)"
            let isQuantity = !["BloodPressure", "Workout"].contains(name)
            let isHourly = isQuantity && HourlyReadings.areTogether(of: full)
            let isDaily = FHIRDays.cover(ArchivedType(name: full, months: []))
            let profile = row.profile.map { name in
                "`\(name)`"
                    + (row.units.isEmpty
                        ? "" : " in \(row.units.map { "`\($0)`" }.joined(separator: ", "))")
            }
            let cells = [
                "\(name)" + (parts.count > 1 ? " in \(parts[1])" : ""),
                Self.code((row.code, row.display)), "`\(row.category)`", profile ?? "",
                isHourly ? "an hour" : "one", isDaily ? "a day" : "one",
            ]
            return "| \(cells.joined(separator: " | ")) |"
        }
        return [
            "| type | LOINC | category | profile of vital signs | with `hourly` | with `days` |",
            "|---|---|---|---|---|---|",
        ] + rows
    }

    private var days: [String] {
        let rows = FHIRDays.quantities.map { quantity -> String in
            let value: String
            switch quantity.value {
            case .merged(let measure): value = "the day's `\(measure.rawValue)`"
            case .mean: value = "the mean of the records"
            case .greatest: value = "the greatest of the records"
            }
            let unit = quantity.unit.map { "`\($0)`" } ?? "of the records"
            let time = quantity.isPhysicalActivity ? "date" : "period"
            let codes = quantity.loinc.map(Self.code).joined(separator: ", ")
            return "| \(quantity.type) | \(codes) | \(value) | \(unit) | \(time) |"
        }
        let stages = FHIRDays.stages.map { stage in
            stage.names[0] + (stage.loinc.first.map { " \(Self.code($0))" } ?? "")
        }
        let night = [
            "SleepAnalysis", Self.code(FHIRDays.asleep),
            "the minutes asleep; components: \(stages.joined(separator: ", "))", "`min`",
            "period of the night",
        ]
        return [
            "| type | LOINC | value | unit in UCUM | time |", "|---|---|---|---|---|",
        ] + rows + ["| \(night.joined(separator: " | ")) |"]
    }

    @Test func `the tables are those of the codes`() throws {
        let location = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../docs/fhir.md").standardized
        var lines = try String(contentsOf: location, encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for table in [types, days] {
            let start = try #require(lines.firstIndex(of: table[0]), "no table \(table[0])")
            let end = lines[start...].firstIndex { !$0.hasPrefix("|") } ?? lines.endIndex
            if ProcessInfo.processInfo.environment["CLARITY_WRITE_DOCS"] != nil {
                lines.replaceSubrange(start..<end, with: table)
            } else {
                #expect(Array(lines[start..<end]) == table)
            }
        }
        if ProcessInfo.processInfo.environment["CLARITY_WRITE_DOCS"] != nil {
            try Data(lines.joined(separator: "\n").utf8).write(to: location)
        }
    }

    @Test func `each type that has a code is known by its name`() {
        let known = Set(FHIRCoding.rows.keys.map { $0.prefix { $0 != " " }.lowercased() })

        #expect(known == Set(Self.names.keys))
    }
}
