import HealthStore
import JSON

/// The codes of a type in LOINC (loinc.org, licensed by Regenstrief Institute) and of a unit in
/// UCUM.
///
/// A type is here if a code means just what a single record of it measures, so no total of a day
/// and no code that names a method which HealthKit leaves open. Those of the vital signs are the
/// ones that FHIR's own profiles of them require.
struct FHIRCoding {
    /// A code of LOINC and its name there.
    typealias Code = (code: String, display: String)

    /// The codes and their names in LOINC; empty for a type without any.
    let loinc: [Code]
    /// The code of the type's category in FHIR.
    let category: String?
    /// The unit in UCUM; `nil` without a unit, or for one that UCUM does not have.
    let unit: String?
    /// The name of FHIR's own profile of vital signs that a number of this type in this unit meets
    /// (hl7.org/fhir/R4/observation-vitalsigns.html).
    let profile: String?

    struct Row {
        let code: String
        let display: String
        let category: String
        /// What HealthKit's `count` means.
        let count: String
        /// The profile of vital signs, and the units in UCUM that it allows; none for any unit.
        let profile: String?
        let units: [String]

        init(
            _ code: String, _ display: String, _ category: String, count: String = "{count}",
            _ profile: String? = nil, in units: String...
        ) {
            self.code = code
            self.display = display
            self.category = category
            self.count = count
            self.profile = profile ?? (category == "vital-signs" ? "vitalsigns" : nil)
            self.units = units
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
        var loinc = row.map { [($0.code, $0.display)] as [Code] } ?? []
        if folded == "oxygensaturation" {
            loinc.append(("59408-5", "Oxygen saturation in Arterial blood by Pulse oximetry"))
        }
        self.loinc = loinc
        category = row?.category ?? FHIRCoding.categories[folded]
        let code = plainUnit.flatMap {
            $0 == "count" ? row?.count ?? "{count}" : FHIRCoding.units[$0]
        }
        self.unit = code
        profile =
            row.map { $0.units.isEmpty || $0.units.contains(code ?? "") } ?? false
            ? row?.profile : nil
    }

    /// By the short name of the type in lower case, and for a glucose with its unit.
    static let rows: [String: Row] = [
        "activeenergyburned": Row("41981-2", "Calories burned", "activity"),
        "bloodglucose mg/dL": Row("2339-0", "Glucose [Mass/volume] in Blood", "laboratory"),
        "bloodglucose mmol/L": Row("15074-8", "Glucose [Moles/volume] in Blood", "laboratory"),
        "bloodpressure": Row(
            "85354-9", "Blood pressure panel with all children optional", "vital-signs", "bp"),
        "bloodpressurediastolic": Row("8462-4", "Diastolic blood pressure", "vital-signs"),
        "bloodpressuresystolic": Row("8480-6", "Systolic blood pressure", "vital-signs"),
        "bodyfatpercentage": Row("41982-0", "Percentage of body fat Measured", "exam"),
        "bodymass": Row(
            "29463-7", "Body weight", "vital-signs", "bodyweight", in: "g", "kg", "[lb_av]"),
        "bodymassindex": Row(
            "39156-5", "Body mass index (BMI) [Ratio]", "vital-signs", count: "kg/m2", "bmi",
            in: "kg/m2"),
        "bodytemperature": Row(
            "8310-5", "Body temperature", "vital-signs", "bodytemp", in: "Cel", "[degF]"),
        "distanceswimming": Row("93816-7", "Swimming distance unspecified time", "activity"),
        "distancewalkingrunning": Row(
            "55430-3", "Walking distance unspecified time Pedometer", "activity"),
        "flightsclimbed": Row(
            "100304-5", "Flights climbed [#] Reporting Period", "activity", count: "{flights}"),
        "forcedexpiratoryvolume1": Row("20150-9", "FEV1", "exam"),
        "forcedvitalcapacity": Row(
            "19870-5", "Forced vital capacity [Volume] Respiratory system", "exam"),
        "heartrate": Row("8867-4", "Heart rate", "vital-signs", "heartrate", in: "/min"),
        "heartratevariabilitysdnn": Row(
            "80404-7", "R-R interval.standard deviation (Heart rate variability)", "exam"),
        "height": Row("8302-2", "Body height", "vital-signs", "bodyheight", in: "cm", "[in_i]"),
        "leanbodymass": Row("91557-9", "Lean body weight", "exam"),
        "oxygensaturation": Row(
            "2708-6", "Oxygen saturation in Arterial blood", "vital-signs", "oxygensat", in: "%"),
        "peripheralperfusionindex": Row(
            "61006-3", "Perfusion index Tissue by Pulse oximetry", "exam"),
        "respiratoryrate": Row(
            "9279-1", "Respiratory rate", "vital-signs", "resprate", in: "/min"),
        "restingheartrate": Row("40443-4", "Heart rate --resting", "vital-signs"),
        "stepcount": Row(
            "55423-8", "Number of steps in unspecified time Pedometer", "activity",
            count: "{steps}"),
        "workout": Row("73985-4", "Exercise activity", "activity"),
    ]

    /// The categories of types that LOINC has no code for.
    private static let categories = [
        "electrocardiogram": "procedure", "mindfulsession": "activity",
        "sleepanalysis": "activity",
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
        "S": "S", "mcS": "uS", "lux": "lx", "V": "V", "mV": "mV", "µV": "uV", "\u{3BC}V": "uV",
        "mcV": "uV",
    ]
}

// The parts of a resource that are made of codes.

extension FHIRCoding {
    /// The system of HealthKit's names, as other converters of HealthKit have it.
    static let healthKit: JSON = "http://developer.apple.com/documentation/healthkit"

    static func loinc(_ code: String, _ display: String) -> JSON {
        ["system": "http://loinc.org", "code": .string(code), "display": .string(display)]
    }

    /// Returns a concept with a name of HealthKit's after codes of LOINC, if it is one.
    static func concept(
        _ loinc: [Code], type: String, text: String
    ) -> JSON {
        var codings = loinc.map { self.loinc($0.code, $0.display) }
        if type.hasPrefix("HK"), isCode(type) {
            codings.append(["system": healthKit, "code": .string(type)])
        }
        return JSON.object([
            JSON.Member(name: "coding", value: codings.isEmpty ? .null : .array(codings)),
            JSON.Member(name: "text", value: isBlank(text) ? "unknown" : .string(text)),
        ]).withoutNulls
    }

    /// Returns the categories of FHIR with these codes, and with it the one of the Physical Activity
    /// guide (hl7.org/fhir/us/physical-activity, 1.0.0).
    static func categories(_ codes: [String], isPhysicalActivity: Bool) -> JSON {
        func category(_ system: JSON, _ code: String) -> JSON {
            ["coding": [["system": system, "code": .string(code)]]]
        }
        var all = codes.map {
            category("http://terminology.hl7.org/CodeSystem/observation-category", $0)
        }
        if isPhysicalActivity {
            all.append(
                category(
                    "http://hl7.org/fhir/us/physical-activity/CodeSystem/pa-temporary-codes",
                    "PhysicalActivity"))
        }
        return all.isEmpty ? .null : .array(all)
    }

    /// Returns what follows the number of a quantity.
    static func bytes(ofUnit unit: String?, code: String?) -> [UInt8] {
        guard let unit, !isBlank(unit) else { return Array("}".utf8) }
        let members: JSON = [
            "unit": .string(unit),
            "system": code == nil ? .null : "http://unitsofmeasure.org", "code": .text(code),
        ]
        return [UInt8(ascii: ",")] + members.withoutNulls.bytes.dropFirst()
    }

    /// Returns a component with a quantity, whose number is as it was written.
    static func component(
        _ concept: JSON, _ number: String, unit: String?, code: String?
    ) -> [UInt8] {
        Array(#"{"code":"#.utf8) + concept.bytes
            + Array(#","valueQuantity":{"value":\#(number)"#.utf8)
            + bytes(ofUnit: unit, code: code) + [UInt8(ascii: "}")]
    }

    /// Returns a component with a text; `nil` without a name. FHIR has no empty texts, and the
    /// profile of vital signs wants a reason for a component without a value (vs-3).
    static func component(_ name: String, _ value: String) -> [UInt8]? {
        guard !isBlank(name) else { return nil }
        let absent: JSON = [
            "coding": [
                [
                    "system": "http://terminology.hl7.org/CodeSystem/data-absent-reason",
                    "code": "not-applicable",
                ]
            ]
        ]
        let members: JSON = [
            "code": ["text": .string(name)],
            "valueString": isBlank(value) ? .null : .string(value),
            "dataAbsentReason": isBlank(value) ? absent : .null,
        ]
        return members.withoutNulls.bytes
    }

    static func isBlank(_ text: String) -> Bool { text.allSatisfy(\.isWhitespace) }

    static func isCode(_ text: String) -> Bool {
        !text.isEmpty && !text.contains(where: \.isWhitespace)
    }

    /// Whether a text is a number as JSON writes one.
    static func isNumber(_ bytes: [UInt8]) -> Bool {
        do throws(JSONFault) {
            return try JSONParser.parse(bytes).double != nil
        } catch {
            return false
        }
    }
}

extension FHIRPatient? {
    /// The `subject` of a resource; a display if nobody said whose it is.
    var subject: JSON {
        switch self {
        case .reference(let reference): ["reference": .string(reference)]
        case .identifier(let system, let value):
            [
                "type": "Patient",
                "identifier": ["system": .string(system), "value": .string(value)],
            ]
        case nil: ["display": "the person whose records these are"]
        }
    }
}
