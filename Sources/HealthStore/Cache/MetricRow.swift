import HealthModel
package import ClarityScheduler
package import JSON

// Extracts the numbers from one of the backend's rows.

extension MetricNumbers {
    /// The maximum size of a row that is parsed, in bytes: 1 MiB. A larger row has no numbers.
    private static var rowLimit: Int { 1 << 20 }

    /// Takes the numbers from a row, which has one number (`type`, `value`) or a whole metric with
    /// its payload.
    ///
    /// Numbers that the contract's payloads do not define stay in the JSON only.
    package init(row json: [UInt8], type: String) {
        self.init()
        let row: JSON
        do throws(JSONFault) {
            row = try JSONParser.parse(json, limit: MetricNumbers.rowLimit)
        } catch {
            return
        }
        if let number = row["value"]?.double, let measure = Measure(oneNumberOf: type) {
            self[measure] = number
        } else if let value = row["value"], case .object = value {
            take(value)
        }
        for payload in ["biometric_data", "activity_data", "sleep_data", "mental_health_data"] {
            if let payload = row[payload] { take(payload) }
        }
        let (from, to) =
            row["sleep_data"].map { ($0["sleep_start"], $0["sleep_end"]) }
            ?? (row["metadata"]?["start_date"], row["metadata"]?["end_date"])
        if let start = from?.instant, let end = to?.instant { setSpan(from: start, to: end) }
    }

    private mutating func take(_ payload: JSON) {
        for measure in Measure.allCases {
            if let number = payload[measure.rawValue]?.double { self[measure] = number }
        }
        if case .string(let word)? = payload[Measure.mood.rawValue] {
            self[.mood] = Measure.moods.firstIndex(of: word).map { Double($0 + 1) }
        }
        guard let stages = payload["sleep_stages"] else { return }
        for (name, measure) in [
            ("awake", Measure.awake), ("light", .lightSleep), ("core", .lightSleep),
            ("deep", .deepSleep), ("rem", .remSleep), ("REM", .remSleep),
        ] {
            if let number = stages[name]?.double { self[measure] = number }
        }
    }
}

extension Measure {
    /// Creates the measure of a type that consists of one number; `nil` for other types.
    fileprivate init?(oneNumberOf type: String) {
        switch type {
        case "blood_oxygen": self = .oxygenSaturation
        case "heart_rate", "heart_rate_variability", "respiratory_rate", "body_temperature",
            "blood_glucose":
            self.init(rawValue: type)
        default: return nil
        }
    }
}

extension JSON {
    /// The value as an instant in RFC 3339; `nil` for anything else.
    package var instant: Instant? { text.flatMap { Instant(rfc3339: $0) } }
}
