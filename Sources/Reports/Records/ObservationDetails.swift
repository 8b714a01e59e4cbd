import HealthStore
import JSON

// What the metadata of a record becomes in its Observation.

extension RecordObservations {
    /// What the metadata of a record says.
    struct Details {
        /// The entries as components, with commas between them.
        let components: [UInt8]
        /// The value of a record whose source names it among the rest.
        let statement: [UInt8]?
        let curve: Curve?
        /// Whether the components are both pressures of a panel in mmHg.
        let isPanel: Bool

        init(_ metadata: RecordMetadata, of type: String) {
            let curve = Curve(metadata, of: type)
            self.curve = curve
            let pressures = Pressures(metadata, of: type)
            isPanel = pressures?.isMercury ?? false
            let workout = type == "Workout" ? WorkoutParts(metadata) : nil
            let coded =
                [curve?.name].compactMap(\.self) + (pressures?.names ?? []) + (workout?.names ?? [])
            let texts = metadata.pairs.filter { !coded.contains($0.name) }
                .compactMap { FHIRCoding.component($0.name, $0.value) }
            components = Array(
                ((pressures?.components ?? []) + (workout?.components ?? []) + texts)
                    .joined(separator: [UInt8(ascii: ",")]))
            // Without it, a dose that was skipped would look like one that was taken.
            let status =
                type == "medications" ? metadata.pairs.first { $0.name == "status" }?.value : nil
            statement = status.flatMap { text in
                guard !FHIRCoding.isBlank(text) else { return nil }
                let value: JSON = ["valueString": .string(text)]
                return [UInt8(ascii: ",")] + value.bytes.dropFirst().dropLast()
            }
        }
    }

    /// The two pressures of a panel, as the profile of blood pressure requires them
    /// (hl7.org/fhir/R4/bp.html): of HealthKit's correlation, or of a point of Health Auto Export.
    private struct Pressures {
        /// The entries of the metadata that have them.
        let names: [String]
        let components: [[UInt8]]
        /// Whether both are in mmHg, as the profile wants.
        let isMercury: Bool

        init?(_ metadata: RecordMetadata, of type: String) {
            func text(_ name: String) -> String? {
                metadata.pairs.first { $0.name == name }?.value
            }
            let parts = ["BloodPressureSystolic", "BloodPressureDiastolic"]
            let found: [String: (value: String?, unit: String?)]
            switch ArchivedType.shortName(of: type) {
            case "BloodPressure":
                names = ["Record"]
                found = Pressures.records(text("Record"))
            case "blood_pressure":
                names = ["systolic", "diastolic"]
                let values = names.map { (value: text($0), unit: Optional("mmHg")) }
                found = Dictionary(uniqueKeysWithValues: zip(parts, values))
            default: return nil
            }
            var components: [[UInt8]] = []
            var isMercury = true
            for part in parts {
                guard let (value, unit) = found[part], let value,
                    FHIRCoding.isNumber(Array(value.utf8))
                else { return nil }
                let coding = FHIRCoding(type: part, unit: unit)
                isMercury = isMercury && coding.unit == "mm[Hg]"
                components.append(
                    FHIRCoding.component(
                        FHIRCoding.concept(coding.loinc, type: part, text: part), value,
                        unit: unit, code: coding.unit))
            }
            self.components = components
            self.isMercury = isMercury
        }

        /// Returns the values of a correlation's records, by their short types.
        private static func records(
            _ written: String?
        ) -> [String: (value: String?, unit: String?)] {
            Dictionary(
                RecordObservations.list(written).map { record in
                    (
                        ArchivedType.shortName(of: record["type"]?.text ?? ""),
                        (record["value"]?.text, record["unit"]?.text)
                    )
                }, uniquingKeysWith: { first, _ in first })
        }
    }

    /// What a workout took: its length, and of its statistics the energy, the distances and the heart
    /// rates, with the codes of the Physical Activity guide (measures.html, 1.0.0).
    private struct WorkoutParts {
        /// The entries of the metadata that are repeated nowhere else.
        private(set) var names: [String] = []
        private(set) var components: [[UInt8]] = []

        init(_ metadata: RecordMetadata) {
            func text(_ name: String) -> String? {
                metadata.pairs.first { $0.name == name }?.value
            }
            let statistics = RecordObservations.list(text("WorkoutStatistics"))
            if add("duration", [WorkoutParts.duration], text("duration"), text("durationUnit")) {
                names += ["duration", "durationUnit"]
            }
            for one in statistics {
                let type = one["type"]?.text ?? ""
                let unit = one["unit"]?.text
                switch ArchivedType.shortName(of: type) {
                case "ActiveEnergyBurned":
                    add(type, [WorkoutParts.energy], one["sum"]?.text, unit)
                case "HeartRate":
                    add(type, [WorkoutParts.meanHeartRate], one["average"]?.text, unit)
                    add(type, [WorkoutParts.mostHeartRate], one["maximum"]?.text, unit)
                case let name where name.hasPrefix("Distance"):
                    let loinc = FHIRCoding(type: type, unit: unit).loinc
                    add(type, loinc, one["sum"]?.text, unit)
                default: break
                }
            }
            // Older systems have no statistics.
            guard statistics.isEmpty else { return }
            for (name, loinc) in [
                ("totalEnergyBurned", [WorkoutParts.energy]), ("totalDistance", []),
            ] where add(name, loinc, text(name), text("\(name)Unit")) {
                names += [name, "\(name)Unit"]
            }
        }

        @discardableResult
        private mutating func add(
            _ type: String, _ loinc: [FHIRCoding.Code], _ number: String?,
            _ unit: String?
        ) -> Bool {
            guard let number, FHIRCoding.isNumber(Array(number.utf8)) else { return false }
            let concept = FHIRCoding.concept(
                loinc, type: type, text: ArchivedType.shortName(of: type))
            components.append(
                FHIRCoding.component(
                    concept, number, unit: unit, code: FHIRCoding(type: type, unit: unit).unit))
            return true
        }

        private static let duration = (code: "55411-3", display: "Exercise duration")
        private static let energy = (
            code: "55424-6", display: "Calories burned in unspecified time Pedometer"
        )
        private static let meanHeartRate = (
            code: "55425-3", display: "Heart rate unspecified time mean by Pedometer"
        )
        private static let mostHeartRate = (
            code: "55426-1", display: "Heart rate unspecified time maximum by Pedometer"
        )
    }

    /// Returns the elements of a list in metadata; none of anything else, which stays a text.
    private static func list(_ written: String?) -> [JSON] {
        guard let written else { return [] }
        do throws(JSONFault) {
            guard case .array(let list) = try JSONParser.parse(Array(written.utf8)) else {
                return []
            }
            return list
        } catch {
            return []
        }
    }

    /// The curve of an electrocardiogram as SampledData: of a phone's file, or of the list of
    /// voltages that Health Auto Export writes.
    struct Curve {
        /// The entry of the metadata that has it.
        let name: String
        let head = Array(#","valueSampledData":{"origin":{"value":0"#.utf8)
        /// What follows the origin's number; `nil` for the record's own unit.
        let unit: [UInt8]?
        let data: [UInt8]

        init?(_ metadata: RecordMetadata, of type: String) {
            // Samples without a period are no curve; they stay a component.
            let recorded = RecordedCurve(of: type) { name in
                metadata.pairs.first { $0.name == name }?.value
            }
            guard let recorded else { return nil }
            name = recorded.name
            unit = recorded.unit.map {
                FHIRCoding.bytes(ofUnit: $0, code: FHIRCoding(type: type, unit: $0).unit)
            }
            let members: JSON = [
                "period": .number(1000 / recorded.rate), "dimensions": 1,
                "data": .string(recorded.numbers),
            ]
            data = [UInt8(ascii: ",")] + members.bytes.dropFirst()
        }
    }
}
