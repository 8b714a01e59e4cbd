import HealthModel

/// The facts about a metric of a file that are needed before its points are read.
struct AutoExportMetric {
    /// The form of a metric's points.
    enum Field: Hashable {
        /// A number in a unit.
        case quantity(SampleKind)
        /// A systolic and a diastolic pressure.
        case pressure
        /// A night, or a stage of one.
        case sleep
    }

    var name: String
    /// The unit in the file; empty if it has none.
    var unit: String
    /// What the dates of its points show.
    var grouping = AutoExportGrouping()

    /// Whether each point is a whole day.
    var isDaily: Bool { grouping.length == .day }

    /// `nil` for a metric that CLARITY has no field for.
    var field: Field? { AutoExportMetric.fields[name] }

    /// The fields by metric. Only one distance is accepted, the one on foot: two of the same time
    /// would replace each other.
    private static let fields: [String: Field] = {
        var fields: [String: Field] = [:]
        for kind in SampleKind.allCases {
            let field: Field =
                switch kind {
                case .bloodPressure: .pressure
                case .sleep: .sleep
                default: .quantity(kind)
                }
            for name in kind.facts.autoExport { fields[name] = field }
        }
        return fields
    }()

    /// Returns the conversion of the metric's unit, which sometimes differs from HealthKit's
    /// spelling.
    func conversion(to kind: SampleKind) -> UnitConversion? {
        UnitConversion(from: unit, to: kind)
            ?? AutoExportMetric.spellings[unit.lowercased()].flatMap {
                UnitConversion(from: $0, to: kind)
            }
    }

    private static let spellings = [
        "bpm": "count/min", "beats/min": "count/min", "breaths/min": "count/min",
        "brpm": "count/min", "steps": "count", "flights": "count", "°f": "degF", "ºf": "degF",
        "°c": "degC", "ºc": "degC", "mmol/l": "mmol<180.1558800000541>/L",
        "ml/(kg·min)": "mL/(kg·min)", "ml/kg/min": "mL/(kg·min)", "ml/min·kg": "mL/min·kg",
        "ml/(kg*min)": "mL/(kg*min)", "minutes": "min", "minute": "min", "hours": "hr",
        "hour": "hr", "h": "hr", "mmhg": "mmHg", "mg/dl": "mg/dL", "sec": "s",
    ]
}
