import HealthStore
import JSON

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
        "bloodpressure": Row(
            "85354-9", "Blood pressure panel with all children optional", "vital-signs"),
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
        "S": "S", "mcS": "uS", "lux": "lx", "V": "V", "mV": "mV", "µV": "uV", "\u{3BC}V": "uV",
        "mcV": "uV",
    ]
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
