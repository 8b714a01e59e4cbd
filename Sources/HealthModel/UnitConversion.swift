// In unoptimised builds, rounding calls a function of the C library.
import Glibc

/// Converts a number from a HealthKit unit to the unit of a `SampleKind`.
///
/// A file uses the unit that its owner chose to see, so the unit is always read and never assumed.
/// Units are case-sensitive: `Cal` is a kilocalorie and `cal` a thousandth of it.
public struct UnitConversion: Hashable, Sendable {
    /// What a kind's numbers measure, and so the units that they may have. The first unit of each is
    /// the one of `SampleKind`.
    enum Quantity: Hashable, Sendable {
        case perMinute, milliseconds, pressure, count, distance, energy, minutes, oxygenUptake
        case glucose, percent, temperature
    }

    private enum Rule: Hashable {
        case factor(Double)
        case percent
        /// The result in degrees Celsius is the number plus `offset`, times `factor`.
        case temperature(offset: Double, factor: Double)
    }

    private let rule: Rule

    /// Finds the conversion from `unit` to the unit of `kind`.
    ///
    /// Returns `nil` if the unit is unknown or measures something else.
    public init?(from unit: String, to kind: SampleKind) {
        guard let quantity = kind.facts.units else { return nil }
        switch quantity {
        case .percent:
            guard unit == "%" else { return nil }
            rule = .percent
        case .temperature:
            guard let temperature = UnitConversion.temperatures[unit] else { return nil }
            rule = temperature
        default:
            guard
                let factor = UnitConversion.factors[quantity]?[unit]
                    ?? (quantity == .glucose ? UnitConversion.molar(unit) : nil)
            else { return nil }
            rule = .factor(factor)
        }
    }

    /// Returns the number in the unit of the kind.
    ///
    /// HealthKit writes a percentage as a fraction (`0.96`), some apps as a percentage (`96`). A
    /// number up to 1 counts as a fraction.
    public func callAsFunction(_ number: Double) -> Double {
        switch rule {
        case .factor(let factor): number * factor
        // Rounded to a millionth of a percent; otherwise 0.57 would become 56.99999999999999.
        case .percent: number <= 1 ? (number * 1e8).rounded() / 1e6 : number
        case .temperature(let offset, let factor):
            // Rounded to a millionth of a degree; otherwise 98.6 °F would become 36.99999999999999.
            ((number + offset) * factor * 1e6).rounded() / 1e6
        }
    }

    private static let factors: [Quantity: [String: Double]] = [
        .perMinute: ["count/min": 1, "count/s": 60, "count/hr": 1 / 60.0],
        .milliseconds: ["ms": 1, "s": 1000.0],
        // With 1 mmHg = 133.322387415 Pa and 1 cmAq = 98.0665 Pa.
        .pressure: [
            "mmHg": 1, "Pa": 1 / 133.322387415, "hPa": 100 / 133.322387415,
            "kPa": 1000 / 133.322387415, "cmAq": 98.0665 / 133.322387415, "inHg": 25.4,
        ],
        .count: ["count": 1.0],
        .distance: [
            "km": 1, "m": 1 / 1000.0, "cm": 1 / 100_000.0, "mi": 1.609344, "yd": 0.000_9144,
            "ft": 0.000_3048, "in": 0.000_0254,
        ],
        // With the thermochemical calorie of 4.184 J, which HealthKit uses.
        .energy: ["kcal": 1, "Cal": 1, "cal": 1 / 1000.0, "kJ": 1 / 4.184, "J": 1 / 4184.0],
        .minutes: ["min": 1, "hr": 60, "s": 1 / 60.0, "ms": 1 / 60_000.0, "d": 1440],
        // The export's own spelling, and that of HealthKit's unit strings. All behind the slash is
        // below it.
        .oxygenUptake: [
            "mL/min·kg": 1, "mL/kg·min": 1, "mL/(kg·min)": 1, "mL/kg*min": 1, "mL/min*kg": 1,
            "mL/(kg*min)": 1, "ml/(kg*min)": 1.0,
        ],
        .glucose: ["mg/dL": 1, "g/L": 100, "mg/L": 1 / 10.0, "g/dL": 1000, "g/mL": 100_000.0],
    ]

    private static let temperatures: [String: Rule] = [
        "degC": .temperature(offset: 0, factor: 1),
        "degF": .temperature(offset: -32, factor: 5 / 9.0),
        "K": .temperature(offset: -273.15, factor: 1),
    ]

    /// Returns the factor for an amount of substance, such as `mmol<180.1558800000541>/L`.
    ///
    /// The number in the brackets is the molar mass in grams; without it there is no conversion.
    private static func molar(_ unit: String) -> Double? {
        guard let open = unit.firstIndex(of: "<"), let close = unit.lastIndex(of: ">"),
            open < close, let mass = Double(unit[unit.index(after: open)..<close]), mass > 0,
            mass < 100_000
        else { return nil }
        let amounts: [Substring: Double] = ["mol": 1000, "mmol": 1, "mcmol": 0.001]
        let volumes: [Substring: Double] = ["/L": 1 / 10.0, "/dL": 1, "/mL": 100.0]
        guard let amount = amounts[unit[..<open]],
            let volume = volumes[unit[unit.index(after: close)...]]
        else { return nil }
        return amount * mass * volume
    }
}
