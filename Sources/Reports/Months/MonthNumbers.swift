import HealthModel
import ClarityScheduler
import JSON

/// Writes numbers for people. The exact number is the value of a `data` element, as `--output json`
/// has it.
enum MonthNumbers {
    /// Returns a value with its unit.
    static func html(_ value: Double, of measure: Measure) -> HTML {
        html(value, unit: measure.unit, decimals: measure.decimals)
    }

    static func html(_ value: Double, unit: String, decimals: Int) -> HTML {
        let exact = roundedJSON(value).line
        let parts = parts(value, unit: unit, decimals: decimals)
        return HTML(
            "data", ["value": exact],
            parts.map { part in
                part.isUnit ? HTML("span.unit", text: part.text) : HTML(text: part.text)
            })
    }

    static func text(_ value: Double, unit: String, decimals: Int) -> String {
        parts(value, unit: unit, decimals: decimals).map(\.text).joined()
    }

    private static func parts(
        _ value: Double, unit: String, decimals: Int
    ) -> [(text: String, isUnit: Bool)] {
        // A backend may send any number; a larger one is no length of time.
        if unit == "min", (60..<1e9).contains(value.rounded()) {
            let minutes = Int(value.rounded())
            return [
                (grouped(Double(minutes / 60), decimals: 0), false), (" h ", true),
                ("\(minutes % 60)", false), (" min", true),
            ]
        }
        if unit == "share" { return [(grouped(value * 100, decimals: 0), false), (" %", true)] }
        let number = grouped(value, decimals: decimals)
        let unit = shown(unit)
        return unit.isEmpty ? [(number, false)] : [(number, false), (" \(unit)", true)]
    }

    /// Returns a unit as people write it.
    static func shown(_ unit: String) -> String {
        switch unit {
        case "count/min", "1/min": "/min"
        case "count": ""
        case "Cal": "kcal"
        case "degC": "°C"
        case "mL/(kg*min)": "ml/kg/min"
        // The points of a scale.
        case "1..5": "of 5"
        case "1..10": "of 10"
        default: unit
        }
    }

    /// Returns a number with a comma between groups of three digits.
    static func grouped(_ value: Double, decimals: Int) -> String {
        let text = fixedText(value, decimals: decimals)
        let sign = text.hasPrefix("-") ? "-" : ""
        let whole = text.dropFirst(sign.count).prefix { $0.isNumber }
        guard whole.count > 3, !text.contains("e") else { return text }
        var groups: [Substring] = []
        var rest = whole
        while !rest.isEmpty {
            groups.insert(rest.suffix(3), at: 0)
            rest = rest.dropLast(3)
        }
        return sign + groups.joined(separator: ",")
            + text.dropFirst(sign.count + whole.count)
    }

    /// Returns how a number differs from that of the month before, such as `+4 %`; `nil` if no share
    /// of it can be said.
    static func change(from before: Double, to now: Double) -> String? {
        let share = (now / before - 1) * 100
        guard before > 0, share.isFinite, share.magnitude < 10_000 else { return nil }
        let text = fixedText(share.magnitude, decimals: share.magnitude < 10 ? 1 : 0)
        if Double(text) == 0 { return "the same" }
        return "\(share < 0 ? "\u{2212}" : "+")\(text) %"
    }

    /// Returns a name without the capital of its first word, unless that is an abbreviation.
    static func withinSentence(_ name: String) -> String {
        let isAbbreviation = name.prefix(2).allSatisfy(\.isUppercase)
        return isAbbreviation ? name : name.prefix(1).lowercased() + name.dropFirst()
    }
}

/// Returns a count with a comma between groups of three digits: `600,240`.
public func grouped(_ count: Int64) -> String {
    MonthNumbers.grouped(Double(count), decimals: 0)
}
