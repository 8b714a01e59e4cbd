import ClarityScheduler
import JSON

// Unoptimised builds round with a function of the C library.
import HealthModel
import ClarityScheduler
import Platform
import Glibc
import JSON

/// A fault in one sample of a file; it names the type that was found, never the value.
struct FieldFault: Error, Hashable {
    /// The field's name; `nil` for the whole sample.
    var field: String?
    var got: String
    var wanted: String
}

extension FieldFault: CustomStringConvertible {
    var description: String {
        // The author of the file chose the field's name.
        "\(field.map { "`\($0.forReport)`: " } ?? "")got \(got), wanted \(wanted)"
    }
}

/// A sample as other programs write it: a JSON object.
///
/// `docs/sources.md` describes the form. An unknown field is a fault: it is more likely a mistyped
/// name than one that may be left out.
struct SpoolSample: Hashable {
    var sample: Sample
    var nature: SampleNature

    private static let fields = ["kind", "start", "end", "value", "unit", "source", "aggregate"]

    /// Reads one sample.
    ///
    /// - Parameters:
    ///   - now: the instant after which nothing can have happened.
    ///   - asOf: the instant as of which an aggregate is true.
    init(_ json: JSON, now: Instant, asOf: Instant) throws(FieldFault) {
        guard case .object(let members) = json else {
            throw FieldFault(got: json.sort, wanted: "an object")
        }
        let object = try SpoolObject(members, SpoolSample.fields)
        let kind = try SpoolSample.kind(object)
        let start = try object.instant("start")
        let end = json["end"] == nil ? start : try object.instant("end")
        guard start <= end else {
            throw object.fault("end", "an instant before `start`", "one at or after it")
        }
        // A day or night must be over when it is passed on; a measurement's end may be rounded up.
        guard start <= now else {
            throw object.fault("start", "an instant to come", "one that has passed")
        }
        let isWhole = kind == .sleep || kind == .activity || kind == .workout
        guard !isWhole || start < end else {
            throw object.fault("end", "nothing after `start`", "its end")
        }
        guard !isWhole || end <= now else {
            throw object.fault("end", "an instant to come", "one that has passed")
        }
        let value = try SpoolSample.value(object, kind)
        let isAggregate = try object.boolean("aggregate") ?? isWhole
        sample = Sample(
            kind: kind, start: start, end: end, value: value,
            source: try object.text("source").map { String($0.prefix(120)).withoutControls })
        nature = isAggregate ? .aggregate(asOf: asOf) : .measurement
    }

    private static func kind(_ object: SpoolObject) throws(FieldFault) -> SampleKind {
        guard let name = try object.text("kind") else {
            throw object.fault("kind", "nothing", "a kind's name")
        }
        guard let kind = SampleKind(rawValue: name) else {
            throw object.fault(
                "kind", "a text",
                "one of \(SampleKind.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return kind
    }

    private static func value(
        _ object: SpoolObject, _ kind: SampleKind
    ) throws(FieldFault) -> Sample.Value {
        switch kind {
        case .sleep: return .sleep(try night(try object.object("value", nightFields)))
        case .activity: return .activity(try day(try object.object("value", dayFields)))
        case .bloodPressure:
            let convert = try conversion(object, kind)
            let parts = try object.object("value", ["systolic", "diastolic"])
            func pressure(_ name: String) throws(FieldFault) -> Int {
                let value = convert(try parts.number(name)).rounded()
                guard value < 1e6 else { throw parts.tooLarge(name) }
                return Int(value)
            }
            return .pressure(
                systolic: try pressure("systolic"), diastolic: try pressure("diastolic"))
        case .mood, .stress, .cognitive, .environmental, .workout:
            return .values(try values(object, kind))
        default:
            let value = try conversion(object, kind)(try object.number("value"))
            guard value.isFinite, value >= 0 else { throw object.tooLarge("value") }
            return .single(value)
        }
    }

    /// Returns the conversion from the sample's unit to the kind's own; without a unit, values stay
    /// as they are.
    private static func conversion(
        _ object: SpoolObject, _ kind: SampleKind
    ) throws(FieldFault) -> (Double) -> Double {
        guard let unit = try object.text("unit") else { return { $0 } }
        guard let conversion = UnitConversion(from: unit, to: kind) else {
            throw object.fault("unit", "a text", "a unit of `\(kind.rawValue)`, or nothing")
        }
        return { conversion($0) + 0 }
    }

    private static let nightFields = [
        "total_minutes", "efficiency", "wake_count", "awake_minutes", "light_minutes",
        "deep_minutes", "rem_minutes", "minutes_to_sleep",
    ]

    private static func night(_ object: SpoolObject) throws(FieldFault) -> SleepNight {
        SleepNight(
            totalMinutes: try object.whole("total_minutes", 1...2880),
            efficiency: try object.number("efficiency", in: 0...1),
            wakeCount: try object.whole("wake_count", 0...1000, else: 0),
            awakeMinutes: try object.whole("awake_minutes", 0...2880, else: 0),
            lightMinutes: try object.whole("light_minutes", 0...2880, else: 0),
            deepMinutes: try object.whole("deep_minutes", 0...2880, else: 0),
            remMinutes: try object.whole("rem_minutes", 0...2880, else: 0),
            minutesToSleep: object.has("minutes_to_sleep")
                ? try object.whole("minutes_to_sleep", 0...2880) : nil)
    }

    private static func values(
        _ object: SpoolObject, _ kind: SampleKind
    ) throws(FieldFault) -> MeasuredValues {
        let names = kind.measures.map(kind.fieldName)
        let textName = kind.textName
        let parts = try object.object("value", names + (textName.map { [$0] } ?? []))
        var values = MeasuredValues()
        for (measure, name) in zip(kind.measures, names) where parts.has(name) {
            let range = IntakeCheck.range(of: measure)
            values.numbers[measure] =
                if measure == .mood {
                    Double(try parts.place(name, in: Measure.moods) + 1)
                } else if measure.isWhole {
                    Double(try parts.whole(name, Int(range.lowerBound)...Int(range.upperBound)))
                } else {
                    try parts.number(name, in: range)
                }
        }
        guard !values.numbers.isEmpty else {
            throw FieldFault(
                field: "value", got: "an object without a value",
                wanted: "at least one of \(names.joined(separator: ", "))")
        }
        guard let textName else { return values }
        values.text = try parts.text(textName)
        guard values.text?.count ?? 0 <= MeasuredValues.longestText else {
            throw parts.fault(
                textName, "a longer text", "at most \(MeasuredValues.longestText) characters")
        }
        guard kind != .workout || values.text != nil else {
            throw parts.fault(textName, "nothing", "a type of activity")
        }
        return values
    }

    private static let dayFields = ActivityDay.kinds.map(\.rawValue)

    private static func day(_ object: SpoolObject) throws(FieldFault) -> ActivityDay {
        var day = ActivityDay()
        for kind in ActivityDay.kinds where object.has(kind.rawValue) {
            day[kind] = try object.number(kind.rawValue)
        }
        guard !day.isEmpty else {
            throw FieldFault(
                field: "value", got: "an empty object",
                wanted: "at least one of \(dayFields.joined(separator: ", "))")
        }
        return day
    }
}

/// An object of a sample, whose fields are read by type.
struct SpoolObject {
    private let json: JSON
    /// The text before the names of its fields in a fault, such as `value.`.
    private let prefix: String

    /// Creates an object that has no other fields than these.
    init(
        _ members: [JSON.Member], _ fields: [String], prefix: String = ""
    ) throws(FieldFault) {
        json = .object(members)
        self.prefix = prefix
        if let unknown = members.first(where: { !fields.contains($0.name) }) {
            throw fault(
                String(unknown.name.prefix(40)), "a field of no meaning",
                "one of \(fields.joined(separator: ", "))")
        }
    }

    func has(_ name: String) -> Bool { json[name] != nil }

    /// Returns a text that is not empty; `nil` if there is no such field.
    func text(_ name: String) throws(FieldFault) -> String? {
        switch json[name] {
        case nil: return nil
        case .string(let text) where !text.isEmpty: return text
        case .string: throw fault(name, "an empty text", "a text")
        case let other?: throw fault(name, other.sort, "a text")
        }
    }

    func boolean(_ name: String) throws(FieldFault) -> Bool? {
        switch json[name] {
        case nil: return nil
        case .bool(let value): return value
        case let other?: throw fault(name, other.sort, "true or false")
        }
    }

    func instant(_ name: String) throws(FieldFault) -> Instant {
        let wanted = "an instant such as 2026-11-20T06:00:00Z"
        switch json[name] {
        case .string(let text):
            guard let instant = Instant(rfc3339: text) else { throw fault(name, "a text", wanted) }
            return instant
        case let other: throw fault(name, other?.sort ?? "nothing", wanted)
        }
    }

    /// Returns one of the words, by its place among them.
    func place(_ name: String, in words: [String]) throws(FieldFault) -> Int {
        let word = try text(name) ?? ""
        guard let place = words.firstIndex(of: word) else {
            throw fault(name, "a text", "one of \(words.joined(separator: ", "))")
        }
        return place
    }

    /// Returns a number of at least 0.
    func number(
        _ name: String, in range: ClosedRange<Double> = 0...(.infinity)
    ) throws(FieldFault) -> Double {
        let wanted =
            range.upperBound == .infinity
            ? "a number of at least 0"
            : "a number from \(Int(range.lowerBound)) to \(Int(range.upperBound))"
        let number: Double
        switch json[name] {
        case .integer(let value): number = Double(value)
        case .number(let value): number = value
        case let other: throw fault(name, other?.sort ?? "nothing", wanted)
        }
        guard number >= 0 else { throw fault(name, "a negative number", wanted) }
        guard number >= range.lowerBound else { throw fault(name, "a smaller number", wanted) }
        guard number <= range.upperBound else { throw fault(name, "a larger number", wanted) }
        // Turns a negative zero into zero.
        return number + 0
    }

    /// Returns a whole number; `standard` if there is no such field.
    func whole(
        _ name: String, _ range: ClosedRange<Int>, else standard: Int? = nil
    ) throws(FieldFault) -> Int {
        let wanted = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        switch json[name] {
        case .integer(let value):
            guard range.contains(Int(clamping: value)) else {
                throw fault(name, "another number", wanted)
            }
            return Int(value)
        case nil:
            guard let standard else { throw fault(name, "nothing", wanted) }
            return standard
        case let other?: throw fault(name, other.sort, wanted)
        }
    }

    /// Returns an object that has no other fields than these.
    func object(_ name: String, _ fields: [String]) throws(FieldFault) -> SpoolObject {
        let wanted = "an object of \(fields.joined(separator: ", "))"
        guard case .object(let members)? = json[name] else {
            throw fault(name, json[name]?.sort ?? "nothing", wanted)
        }
        return try SpoolObject(members, fields, prefix: "\(prefix)\(name).")
    }

    func tooLarge(_ name: String) -> FieldFault {
        fault(name, "a number beyond all measure", "a measurement")
    }

    func fault(_ name: String, _ got: String, _ wanted: String) -> FieldFault {
        FieldFault(field: "\(prefix)\(name)", got: got, wanted: wanted)
    }
}

extension JSON {
    /// The type of the value, with its article.
    var sort: String {
        switch self {
        case .null: "null"
        case .bool: "true or false"
        case .integer, .number: "a number"
        case .string: "a text"
        case .array: "a list"
        case .object: "an object"
        }
    }
}
