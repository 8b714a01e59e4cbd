// In unoptimised builds, rounding calls a function of the C library.
import Glibc

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
