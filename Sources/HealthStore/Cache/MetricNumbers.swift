public import HealthModel
public import ClarityScheduler
package import JSON

/// The numbers of a metric and its time span, readable without its JSON.
public struct MetricNumbers: Hashable, Sendable, PrivateValue {
    /// A measure with its number.
    public struct Entry: Hashable, Sendable, PrivateValue {
        public var measure: Measure
        public var number: Double
    }

    /// The measures with a number, each once.
    public private(set) var entries: [Entry] = []
    /// When the measured period began and ended; `nil` if only an instant is known.
    public var span: Range<Instant>?

    /// Creates an empty set of numbers.
    public init() {}

    /// The number of a measure, or `nil`; a number that is not finite is stored as `nil`.
    public subscript(measure: Measure) -> Double? {
        get { entries.first { $0.measure == measure }?.number }
        set {
            entries.removeAll { $0.measure == measure }
            if let newValue, newValue.isFinite {
                entries.append(Entry(measure: measure, number: newValue))
            }
        }
    }

    /// Sets the span; one that does not end after its start is stored as `nil`.
    public mutating func setSpan(from start: Instant, to end: Instant) {
        span = start < end ? start..<end : nil
    }
}

extension MetricNumbers {
    /// Creates the numbers of a sample.
    public init(_ sample: Sample) {
        setSpan(from: sample.start, to: sample.end)
        switch sample.value {
        case .single(let number):
            if let measure = Measure(sample.kind) { self[measure] = number }
        case .pressure(let systolic, let diastolic):
            self[.systolic] = Double(systolic)
            self[.diastolic] = Double(diastolic)
        case .sleep(let night):
            self[.totalSleep] = Double(night.totalMinutes)
            self[.sleepEfficiency] = night.efficiency
            self[.timeToSleep] = night.minutesToSleep.map { Double($0) }
            if night.knowsWakeCount { self[.wakeCount] = Double(night.wakeCount) }
            if night.knowsAwake { self[.awake] = Double(night.awakeMinutes) }
            if night.hasStages {
                self[.lightSleep] = Double(night.lightMinutes)
                self[.deepSleep] = Double(night.deepMinutes)
                self[.remSleep] = Double(night.remMinutes)
            }
        case .activity(let day):
            for kind in ActivityDay.kinds {
                if let measure = Measure(kind) { self[measure] = day[kind] }
            }
        case .values(let values):
            for measure in sample.kind.measures { self[measure] = values.numbers[measure] }
        }
    }
}

extension Measure {
    /// Creates the measure of a kind whose samples have one number: the one of the same name.
    init?(_ kind: SampleKind) { self.init(rawValue: kind.rawValue) }
}

// The encrypted form of a cached row: its numbers, if it has any, and its JSON after them.
//
// It consists of a byte 1, the length of the numbers (16 bits), the numbers, and the JSON. Insights
// and rows of an earlier version have only JSON, which never begins with a byte 1.
extension MetricNumbers {
    private static let mark: UInt8 = 1
    /// The number of bytes before the numbers.
    private static let head = 3

    /// Returns the form with the numbers in front of `json`.
    func form(before json: [UInt8]) -> [UInt8] {
        var numbers: [UInt8] = [UInt8(entries.count)]
        for entry in entries {
            numbers.append(entry.measure.code)
            numbers.append(littleEndian: entry.number.bitPattern)
        }
        if let span {
            numbers.append(littleEndian: span.lowerBound.millisecondsSince1970)
            numbers.append(littleEndian: span.upperBound.millisecondsSince1970)
        }
        var form: [UInt8] = [MetricNumbers.mark]
        form.reserveCapacity(MetricNumbers.head + numbers.count + json.count)
        form.append(littleEndian: UInt16(numbers.count))
        return form + numbers + json
    }

    /// Parses the numbers in front of a row's JSON; returns `nil` if there is only JSON.
    init?(form whole: UnsafeRawBufferPointer) {
        let form = UnsafeRawBufferPointer(rebasing: whole[MetricForm.restStart(in: whole)...])
        guard form.count > MetricNumbers.head, form[0] == MetricNumbers.mark else { return nil }
        let end = MetricNumbers.head + Int(form[1]) + Int(form[2]) << 8
        guard end <= form.count, end > MetricNumbers.head else { return nil }
        var place = MetricNumbers.head + 1
        func number() -> UInt64? {
            guard place + 8 <= end else { return nil }
            defer { place += 8 }
            return UInt64(littleEndian: form.loadUnaligned(fromByteOffset: place, as: UInt64.self))
        }
        entries.reserveCapacity(Int(form[MetricNumbers.head]))
        for _ in 0..<form[MetricNumbers.head] {
            guard place < end else { return nil }
            let code = form[place]
            place += 1
            guard let bits = number() else { return nil }
            // A measure of a later version is skipped.
            if let measure = Measure(code: code) {
                entries.append(Entry(measure: measure, number: Double(bitPattern: bits)))
            }
        }
        guard let start = number(), let finish = number() else { return }
        setSpan(
            from: Instant(millisecondsSince1970: Int64(bitPattern: start)),
            to: Instant(millisecondsSince1970: Int64(bitPattern: finish)))
    }

    /// Returns the JSON of a row's form.
    static func json(of form: [UInt8]) -> [UInt8] {
        guard form.first == mark, form.count >= head else { return form }
        let end = head + Int(form[1]) + Int(form[2]) << 8
        return end <= form.count ? Array(form[end...]) : form
    }

    // Extracts the numbers from one of the backend's rows.

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
        guard let measures = MetricGroup(type: type)?.measures, measures.count == 1 else {
            return nil
        }
        self = measures[0]
    }
}

extension JSON {
    /// The value as an instant in RFC 3339; `nil` for anything else.
    package var instant: Instant? { text.flatMap { Instant(rfc3339: $0) } }
}
