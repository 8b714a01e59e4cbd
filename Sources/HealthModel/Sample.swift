public import ClarityScheduler

// In unoptimised builds, rounding calls a function of the C library.
import Glibc

/// One measurement over an interval, or an aggregate of many, in canonical units.
public struct Sample: Hashable, Sendable, PrivateValue {
    /// A measurement's number or numbers, in the unit of its `SampleKind`.
    public enum Value: Hashable, Sendable, PrivateValue {
        case single(Double)
        case pressure(systolic: Int, diastolic: Int)
        // Indirect, because otherwise every measurement would have the size of these cases.
        indirect case sleep(SleepNight)
        indirect case activity(ActivityDay)
        indirect case values(MeasuredValues)
    }

    public var kind: SampleKind
    public var start: Instant
    public var end: Instant
    public var value: Value
    /// The app or device that measured, as named by the source. It is not part of the identity,
    /// since a renamed phone rewrites it.
    public var source: String?
    /// Whether an app made it for a span of time and names in `source` all devices that contributed,
    /// so that another value of the same time replaces it, whatever that one's `source` is.
    public var isOfAllSources = false

    /// Creates a sample.
    public init(
        kind: SampleKind, start: Instant, end: Instant, value: Value, source: String? = nil
    ) {
        self.kind = kind
        self.start = start
        self.end = end
        self.value = value
        self.source = source
    }
}

extension Sample {
    /// The bytes that identify the same sample in another export.
    ///
    /// They are the kind's raw value in UTF-8, a zero byte, the start and the end as big-endian
    /// 64-bit seconds since 1970-01-01T00:00:00Z, and `canonicalValue` in UTF-8. The layout never
    /// changes, because ids on the server were derived from it. The source is left out, since a
    /// renamed phone rewrites it. So are the device and the text of the dates, which differ in
    /// every export. An export has whole seconds, so fractions of a second do not count either.
    ///
    /// The bytes contain the value: they are health data and must not be logged.
    public var identity: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(64)
        appendIdentity(to: &bytes)
        return bytes
    }

    package func appendIdentity(to bytes: inout [UInt8]) {
        bytes.append(contentsOf: kind.rawValue.utf8)
        bytes.append(0)
        for seconds in [start, end].lazy.map(\.secondsSince1970) {
            withUnsafeBytes(of: seconds.bigEndian) { bytes.append(contentsOf: $0) }
        }
        appendCanonicalValue(to: &bytes)
    }
}

/// How a sample relates to another one of the same kind and time.
public enum SampleNature: Hashable, Sendable {
    /// A measured value: two different values are two measurements, and no aggregate replaces
    /// either.
    case measurement
    /// A measured value that an earlier reading of its source brought, with all others of its month.
    case knownMeasurement
    /// A value that a source computes from everything that it knows of the time between start and
    /// end, such as a day's steps. Of two such values the one with the later `asOf` counts.
    ///
    /// - Parameter asOf: the instant up to which everything that the source knows is included, such
    ///   as the date of the export or the time when the file was written.
    case aggregate(asOf: Instant)

    /// Whether another sample of the same kind and time may replace this one.
    public var isAggregate: Bool {
        switch self {
        case .measurement, .knownMeasurement: false
        case .aggregate: true
        }
    }
}

extension Sample {
    /// The value as text with the fixed decimals of its kind: `61.0`, `0.42`, `120/80`.
    ///
    /// It is rounded, for comparing and not for sending. The boundary between two texts is at 0.48
    /// instead of 0.5. A number that ends in a 5 (`0.125` kcal) is therefore not on the boundary,
    /// where the same number converted from another unit (`0.523` kJ) could fall on the other side.
    /// Values within the error of six digits of the boundary can still differ: about one in two
    /// thousand distances of some hundred metres, after a change of unit.
    public var canonicalValue: String {
        var bytes: [UInt8] = []
        appendCanonicalValue(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    func appendCanonicalValue(to bytes: inout [UInt8]) {
        switch value {
        case .single(let number):
            appendFixed(number, decimals: kind.facts.decimals, to: &bytes)
        case .pressure(let systolic, let diastolic):
            bytes.append(contentsOf: String(systolic).utf8)
            bytes.append(UInt8(ascii: "/"))
            bytes.append(contentsOf: String(diastolic).utf8)
        case .sleep(let night): night.appendCanonicalValue(to: &bytes)
        case .activity(let day): day.appendCanonicalValue(to: &bytes)
        case .values(let values): values.appendCanonicalValue(kind, to: &bytes)
        }
    }
}

extension MeasuredValues {
    /// Appends the values in the order of the kind's measures, with three decimals and `-` for
    /// unknown ones, and the text: `4.000/-/-/7.000/-/-/-/a long day`.
    ///
    /// The values of a workout may be sums, or be written in another unit later. So they have one
    /// decimal for minutes, two for kilometres and none for kilocalories, as in a day.
    fileprivate func appendCanonicalValue(_ kind: SampleKind, to bytes: inout [UInt8]) {
        for measure in kind.measures {
            if let number = numbers[measure] {
                let decimals =
                    switch (kind, measure) {
                    case (.workout, .distance): 2
                    case (.workout, .activeEnergy): 0
                    case (.workout, _): 1
                    default: 3
                    }
                appendFixed(number, decimals: decimals, to: &bytes)
            } else {
                bytes.append(UInt8(ascii: "-"))
            }
            bytes.append(UInt8(ascii: "/"))
        }
        bytes.append(contentsOf: (text ?? "").utf8)
    }
}

extension SleepNight {
    /// Appends minutes asleep, efficiency with three decimals, wake count, minutes awake, light,
    /// deep and REM, and minutes to sleep or `-`: `431/0.914/3/22/260/71/100/9`.
    fileprivate func appendCanonicalValue(to bytes: inout [UInt8]) {
        bytes.append(contentsOf: "\(totalMinutes)/".utf8)
        appendFixed(efficiency, decimals: 3, to: &bytes)
        let counts = [wakeCount, awakeMinutes, lightMinutes, deepMinutes, remMinutes]
        for count in counts { bytes.append(contentsOf: "/\(count)".utf8) }
        bytes.append(contentsOf: "/\(minutesToSleep.map { String($0) } ?? "-")".utf8)
    }
}

extension ActivityDay {
    /// Appends the day's values in the order of `kinds`, with `-` for unknown ones:
    /// `8012/5.12/310/30/7/-/58.0`.
    fileprivate func appendCanonicalValue(to bytes: inout [UInt8]) {
        for (place, kind) in ActivityDay.kinds.enumerated() {
            if place > 0 { bytes.append(UInt8(ascii: "/")) }
            guard let value = self[kind] else {
                bytes.append(UInt8(ascii: "-"))
                continue
            }
            appendFixed(value, decimals: kind.facts.day?.decimals ?? 0, to: &bytes)
        }
    }
}

/// Writes `number` with exactly `decimals` decimals, 0 to 3.
///
/// Numbers that no measurement reaches (2^53 steps and more, infinity, not a number) are written in
/// the standard library's shortest form instead, so that the text is still a function of the
/// number.
private func appendFixed(_ number: Double, decimals: Int, to bytes: inout [UInt8]) {
    var scale = 1
    for _ in 0..<decimals { scale *= 10 }
    let steps = (number.magnitude * Double(scale) + 0.52).rounded(.down)
    guard steps < 0x1p53 else {
        bytes.append(contentsOf: number.description.utf8)
        return
    }
    let count = Int(steps)
    if number < 0, count > 0 { bytes.append(UInt8(ascii: "-")) }
    bytes.append(contentsOf: String(count / scale).utf8)
    guard decimals > 0 else { return }
    bytes.append(UInt8(ascii: "."))
    var place = scale / 10
    while place > 0 {
        bytes.append(UInt8(ascii: "0") + UInt8(count / place % 10))
        place /= 10
    }
}

/// Refuses samples that no backend may ever get, whatever its dialect. No other code refuses a
/// sample before it is queued.
///
/// A sample that is merely unusual is queued; its endpoint (`UploadEndpoint`) decides about it.
public enum IntakeCheck {
    /// The reason for a refusal; the raw value names it in counts.
    public enum Refusal: String, CaseIterable, Error, Hashable, Sendable {
        case endBeforeStart = "end before start"
        /// It begins more than `skew` from now. It may be accepted once that time has come.
        case inFuture = "in the future"
        case notFinite = "not a finite number"
        case impossible = "outside what is physically possible"
        case tooLong = "longer than 366 days"
    }

    /// How far a device's clock may be ahead of this machine's.
    public static let skew = Duration.seconds(24 * 3600)
    /// The longest time that a sample may cover.
    public static let longest = Duration.seconds(366 * 86_400)

    /// Returns the values that are possible at all for a measure in `MeasuredValues`.
    public static func range(of measure: Measure) -> ClosedRange<Double> {
        switch measure {
        case .systolic, .diastolic: SampleKind.bloodPressure.facts.possible
        case .mood: 1...5
        case .stress, .anxiety, .energy, .focus: 1...10
        case .socialMinutes: 0...1440
        case .meditationMinutes: 0...480
        case .activeMinutes: SampleKind.exerciseMinutes.facts.possible
        default: SampleKind(rawValue: measure.rawValue)?.facts.possible ?? 0...1_000_000
        }
    }

    /// Returns the sample as it may be queued. Impossible values of a day are left out, so that
    /// they do not cost the day its other values.
    public static func accepted(_ sample: Sample, at now: Instant) throws(Refusal) -> Sample {
        guard sample.start <= sample.end else { throw .endBeforeStart }
        guard sample.start <= now + skew else { throw .inFuture }
        guard sample.end - sample.start <= longest else { throw .tooLong }
        switch sample.value {
        case .single(let number): try check(number, sample.kind)
        case .pressure(let systolic, let diastolic):
            try check(Double(systolic), sample.kind)
            try check(Double(diastolic), sample.kind)
        case .sleep(let night):
            guard night.efficiency.isFinite else { throw .notFinite }
            guard (0...1).contains(night.efficiency) else { throw .impossible }
            try check(Double(night.totalMinutes), sample.kind)
        case .values(let values):
            for (measure, number) in values.numbers { try check(number, range(of: measure)) }
        case .activity(let day):
            var sample = sample
            sample.value = .activity(try accepted(day))
            return sample
        }
        return sample
    }

    private static func accepted(_ day: ActivityDay) throws(Refusal) -> ActivityDay {
        var accepted = day
        var first: Refusal?
        for kind in ActivityDay.kinds {
            guard let number = day[kind] else { continue }
            do throws(Refusal) {
                try check(number, kind)
            } catch {
                accepted[kind] = nil
                first = first ?? error
            }
        }
        if accepted.isEmpty, let first { throw first }
        return accepted
    }

    private static func check(_ number: Double, _ kind: SampleKind) throws(Refusal) {
        try check(number, kind.facts.possible)
    }

    private static func check(
        _ number: Double, _ range: ClosedRange<Double>
    ) throws(Refusal) {
        guard number.isFinite else { throw .notFinite }
        guard range.contains(number) else { throw .impossible }
    }
}
