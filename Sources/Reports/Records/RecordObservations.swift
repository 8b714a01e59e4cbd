import HealthStore
import JSON

/// Writes records as Observations of FHIR R4 (4.0.1), one on each line.
///
/// A type has the codes of `FHIRCoding`, and each record an id that the next export gives it again.
/// A value, its unit and the times are as the source wrote them, except that a share of 1, as which
/// HealthKit writes percentages, is multiplied by 100.
struct RecordObservations: RecordLines {
    static let heading = ""
    /// The system of HealthKit's names, as other converters of HealthKit have it.
    fileprivate static let healthKit: JSON = "http://developer.apple.com/documentation/healthkit"

    /// What many records have in common.
    fileprivate struct Origin {
        /// The members from the status to the performer.
        let head: [UInt8]
        /// What follows the number of a quantity.
        let unit: [UInt8]
        let isPercentage: Bool
        let version: [UInt8]?
    }

    fileprivate struct Word {
        let isNumber: Bool
        let bytes: [UInt8]
    }

    private let origins: SegmentTexts<Origin>
    private let words: SegmentTexts<Word>
    private let metadata: SegmentTexts<[UInt8]>
    private var ids: RecordIDs
    private var times = TimeWriter()

    static func fileName(of type: String) -> String { "Observation.\(type).ndjson" }

    init(_ segment: Segment, type: String) {
        origins = SegmentTexts(segment) { Origin(RecordOrigin($0), type: type) }
        words = SegmentTexts(segment) { Word($0) }
        metadata = SegmentTexts(segment) { text in
            Array(
                RecordMetadata(text).pairs.compactMap { component($0.name, $0.value) }
                    .joined(separator: [UInt8(ascii: ",")]))
        }
        ids = RecordIDs(segment, type: type)
    }

    mutating func append(_ record: ArchivedRecord, to bytes: inout [UInt8]) {
        let origin = origins[record.origin]
        bytes += #"{"resourceType":"Observation","id":""#.utf8
        ids.appendNext(record, to: &bytes)
        bytes += #"","#.utf8
        bytes += origin.head
        appendTimes(of: record, to: &bytes)
        appendValue(of: record, origin, to: &bytes)
        let components = [origin.version, record.metadata.map { metadata[$0] }].compactMap { part in
            part.flatMap { $0.isEmpty ? nil : $0 }
        }
        if !components.isEmpty {
            bytes += #","component":["#.utf8
            bytes += components.joined(separator: [UInt8(ascii: ",")])
            bytes.append(UInt8(ascii: "]"))
        }
        bytes += "}\n".utf8
    }

    // MARK: Times

    /// The seconds of the years 1 to 9999, without their first and last day.
    private static let writable: Range<Int64> = -62_135_510_400..<253_402_214_400

    private mutating func appendTimes(of record: ArchivedRecord, to bytes: inout [UInt8]) {
        let writable = RecordObservations.writable
        if writable.contains(record.start) {
            let isPeriod = record.end > record.start && writable.contains(record.end)
            bytes += (isPeriod ? #","effectivePeriod":{"start":"# : #","effectiveDateTime":"#).utf8
            append(record.start, record.offsets.start, to: &bytes)
            if isPeriod {
                bytes += #","end":"#.utf8
                append(record.end, record.offsets.end, to: &bytes)
                bytes.append(UInt8(ascii: "}"))
            }
        }
        if let created = record.created, writable.contains(created) {
            bytes += #","issued":"#.utf8
            append(created, record.offsets.created, to: &bytes)
        }
    }

    private mutating func append(_ seconds: Int64, _ offset: Int16, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        // FHIR has no offset beyond 14 hours.
        let isPossible = (-14 * 60...14 * 60).contains(offset)
        times.append(seconds, isPossible ? offset : 0, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    // MARK: Values

    private func appendValue(
        of record: ArchivedRecord, _ origin: Origin, to bytes: inout [UInt8]
    ) {
        switch record.value {
        case .none: break
        case .number(var mantissa, var decimals):
            // Some apps write percentages as such; `UnitConversion` tells them apart alike.
            if origin.isPercentage, mantissa.magnitude <= powerOfTen(decimals) {
                mantissa *= decimals > 1 ? 1 : decimals > 0 ? 10 : 100
                decimals -= min(decimals, 2)
            }
            bytes += #","valueQuantity":{"value":"#.utf8
            bytes += RecordNumber.text(mantissa: mantissa, decimals: decimals).utf8
            bytes += origin.unit
        case .text(let index):
            let word = words[index]
            bytes += word.bytes
            // An exponent or more than 18 digits: a share stays one.
            if word.isNumber { bytes += origin.isPercentage ? Origin.share : origin.unit }
        }
    }

    private func powerOfTen(_ exponent: UInt8) -> UInt64 {
        (0..<exponent).reduce(1) { power, _ in power &* 10 }
    }
}

extension RecordObservations.Origin {
    fileprivate static let share = bytes(ofUnit: "1", code: "1")

    fileprivate init(_ origin: RecordOrigin, type: String) {
        let type = origin.type ?? type
        let isOfHealthKit = type.hasPrefix("HK")
        let coding = FHIRCoding(type: type, unit: origin.unit)
        var codings = coding.loinc.map { code, display -> JSON in
            [
                "system": "http://loinc.org", "code": .string(code), "display": .string(display),
            ]
        }
        if isOfHealthKit, isCode(type) {
            codings.append(["system": RecordObservations.healthKit, "code": .string(type)])
        }
        let name = ArchivedType.shortName(of: type)
        let category: JSON = [
            "system": "http://terminology.hl7.org/CodeSystem/observation-category",
            "code": .text(coding.category),
        ]
        func display(_ text: String?) -> JSON {
            text.flatMap { isBlank($0) ? nil : ["display": .string($0)] } ?? .null
        }
        let source = display(origin.source)
        let members: JSON = [
            "status": "final",
            "category": coding.category == nil ? .null : [["coding": [category]]],
            "code": JSON.object([
                JSON.Member(name: "coding", value: codings.isEmpty ? .null : .array(codings)),
                JSON.Member(name: "text", value: isBlank(name) ? "unknown" : .string(name)),
            ]).withoutNulls,
            "subject": ["display": "the person whose records these are"],
            "performer": source == .null ? .null : [source],
            "device": display(origin.device),
        ]
        head = Array(members.withoutNulls.bytes.dropFirst().dropLast())
        unit = RecordObservations.Origin.bytes(ofUnit: origin.unit, code: coding.unit)
        isPercentage = isOfHealthKit && origin.unit == "%"
        version = origin.version.flatMap { component("sourceVersion", $0) }
    }

    private static func bytes(ofUnit unit: String?, code: String?) -> [UInt8] {
        guard let unit, !isBlank(unit) else { return Array("}".utf8) }
        let members: JSON = [
            "unit": .string(unit),
            "system": code == nil ? .null : "http://unitsofmeasure.org", "code": .text(code),
        ]
        return [UInt8(ascii: ",")] + members.withoutNulls.bytes.dropFirst()
    }
}

extension RecordObservations.Word {
    /// Returns the member with the value; of a number what precedes its unit.
    fileprivate init(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        isNumber = isCode(text) && RecordObservations.Word.isNumber(bytes)
        if isNumber {
            self.bytes = Array(#","valueQuantity":{"value":"#.utf8) + bytes
        } else if isBlank(text) {
            self.bytes = []
        } else {
            let coding: JSON = ["system": RecordObservations.healthKit, "code": .string(text)]
            let value: JSON =
                text.hasPrefix("HK") && isCode(text)
                ? ["valueCodeableConcept": ["coding": [coding]]] : ["valueString": .string(text)]
            self.bytes = [UInt8(ascii: ",")] + value.bytes.dropFirst().dropLast()
        }
    }

    private static func isNumber(_ bytes: [UInt8]) -> Bool {
        do throws(JSONFault) {
            return try JSONParser.parse(bytes).double != nil
        } catch {
            return false
        }
    }
}

/// Returns a component; `nil` without a name. FHIR has no empty texts.
private func component(_ name: String, _ value: String) -> [UInt8]? {
    guard !isBlank(name) else { return nil }
    let members: JSON = [
        "code": ["text": .string(name)], "valueString": isBlank(value) ? .null : .string(value),
    ]
    return members.withoutNulls.bytes
}

private func isBlank(_ text: String) -> Bool { text.allSatisfy(\.isWhitespace) }

private func isCode(_ text: String) -> Bool {
    !text.isEmpty && !text.contains(where: \.isWhitespace)
}

/// The codes of a type in LOINC (loinc.org, licensed by Regenstrief Institute) and of a unit in
/// UCUM.
///
/// A type is here if a code means just what a single record of it measures, so no total of a day
/// and no code that names a method which HealthKit leaves open. Those of the vital signs are the
/// ones that FHIR's own profiles of them require.
struct FHIRCoding {
    /// The codes and their names in LOINC; empty for a type without any.
    let loinc: [(code: String, display: String)]
    /// The code of the type's category in FHIR.
    let category: String?
    /// The unit in UCUM; `nil` without a unit, or for one that UCUM does not have.
    let unit: String?

    private struct Row {
        let code: String
        let display: String
        let category: String
        /// What HealthKit's `count` means.
        let count: String

        init(_ code: String, _ display: String, _ category: String, count: String = "{count}") {
            self.code = code
            self.display = display
            self.category = category
            self.count = count
        }
    }

    /// - Parameters:
    ///   - type: as HealthKit names it, or in words joined by `_`, as other apps do.
    ///   - unit: as HealthKit writes it.
    init(type: String, unit: String?) {
        let folded = ArchivedType.folded(ArchivedType.shortName(of: type))
        // HealthKit writes the molar mass: `mmol<180.1558800000541>/L`.
        let plainUnit = unit.map { $0.hasPrefix("mmol<") ? "mmol" + $0.drop { $0 != "/" } : $0 }
        let row = FHIRCoding.rows[
            folded == "bloodglucose" ? "\(folded) \(plainUnit ?? "")" : folded]
        var loinc = row.map { [(code: $0.code, display: $0.display)] } ?? []
        if folded == "oxygensaturation" {
            loinc.append(("59408-5", "Oxygen saturation in Arterial blood by Pulse oximetry"))
        }
        self.loinc = loinc
        category = row?.category
        self.unit = plainUnit.flatMap {
            $0 == "count" ? row?.count ?? "{count}" : FHIRCoding.units[$0]
        }
    }

    private static let rows: [String: Row] = [
        "activeenergyburned": Row("41981-2", "Calories burned", "activity"),
        "bloodglucose mg/dL": Row("2339-0", "Glucose [Mass/volume] in Blood", "laboratory"),
        "bloodglucose mmol/L": Row("15074-8", "Glucose [Moles/volume] in Blood", "laboratory"),
        "bloodpressurediastolic": Row("8462-4", "Diastolic blood pressure", "vital-signs"),
        "bloodpressuresystolic": Row("8480-6", "Systolic blood pressure", "vital-signs"),
        "bodyfatpercentage": Row("41982-0", "Percentage of body fat Measured", "exam"),
        "bodymass": Row("29463-7", "Body weight", "vital-signs"),
        "bodymassindex": Row(
            "39156-5", "Body mass index (BMI) [Ratio]", "vital-signs", count: "kg/m2"),
        "bodytemperature": Row("8310-5", "Body temperature", "vital-signs"),
        "distanceswimming": Row("93816-7", "Swimming distance unspecified time", "activity"),
        "distancewalkingrunning": Row(
            "55430-3", "Walking distance unspecified time Pedometer", "activity"),
        "flightsclimbed": Row(
            "100304-5", "Flights climbed [#] Reporting Period", "activity", count: "{flights}"),
        "heartrate": Row("8867-4", "Heart rate", "vital-signs"),
        "heartratevariabilitysdnn": Row(
            "80404-7", "R-R interval.standard deviation (Heart rate variability)", "exam"),
        "height": Row("8302-2", "Body height", "vital-signs"),
        "leanbodymass": Row("91557-9", "Lean body weight", "exam"),
        "oxygensaturation": Row("2708-6", "Oxygen saturation in Arterial blood", "vital-signs"),
        "respiratoryrate": Row("9279-1", "Respiratory rate", "vital-signs"),
        "restingheartrate": Row("40443-4", "Heart rate --resting", "vital-signs"),
        "stepcount": Row(
            "55423-8", "Number of steps in unspecified time Pedometer", "activity",
            count: "{steps}"),
        "workout": Row("73985-4", "Exercise activity", "activity"),
    ]

    /// HealthKit's units, and what UCUM calls them.
    private static let units = [
        "%": "%", "Cal": "kcal", "kcal": "kcal", "cal": "cal", "kJ": "kJ", "J": "J",
        "count/min": "/min", "count/s": "/s", "count/hr": "/h", "ms": "ms", "s": "s", "min": "min",
        "hr": "h", "d": "d", "km": "km", "m": "m", "cm": "cm", "mm": "mm", "mi": "[mi_i]",
        "yd": "[yd_i]", "ft": "[ft_i]", "in": "[in_i]", "m/s": "m/s", "km/hr": "km/h",
        "mi/hr": "[mi_i]/h", "ft/s": "[ft_i]/s", "kg": "kg", "g": "g", "mg": "mg", "mcg": "ug",
        "lb": "[lb_av]", "oz": "[oz_av]", "st": "[stone_av]", "L": "L", "dL": "dL", "mL": "mL",
        "fl_oz_us": "[foz_us]", "fl_oz_imp": "[foz_br]", "L/min": "L/min", "mmHg": "mm[Hg]",
        "kPa": "kPa", "hPa": "hPa", "Pa": "Pa", "cmAq": "cm[H2O]", "inHg": "[in_i'Hg]",
        "degC": "Cel", "degF": "[degF]", "K": "K", "mg/dL": "mg/dL", "mmol/L": "mmol/L",
        "mL/min·kg": "mL/min/kg", "mL/kg·min": "mL/min/kg", "kcal/hr·kg": "kcal/h/kg",
        "kcal/kg·hr": "kcal/h/kg", "dBASPL": "dB[SPL]{A}", "IU": "[iU]", "W": "W", "Hz": "Hz",
        "S": "S", "mcS": "uS", "lux": "lx",
    ]
}
