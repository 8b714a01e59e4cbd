// Rounding is a function of the C library in builds that are not optimised.
import Glibc

extension SampleKind {
    /// The decimals that a value keeps when two samples are compared.
    ///
    /// A phone whose owner changes the display unit writes every old value anew, in six significant
    /// digits, so the same sample comes back as a slightly different number. One decimal less than
    /// what both texts can carry makes them one again:
    ///
    /// | decimals | kinds |
    /// |---|---|
    /// | 0 | steps, flights climbed, blood pressure (whole mmHg), blood glucose |
    /// | 1 | heart rate, resting heart rate, respiratory rate, oxygen saturation, exercise minutes, body temperature |
    /// | 2 | heart rate variability, active energy, VO2 max, meditation minutes |
    /// | 3 | distance (metres) |
    public var decimals: Int {
        switch self {
        case .steps, .flightsClimbed, .bloodPressure, .bloodGlucose, .sleep, .activity: 0
        case .heartRate, .restingHeartRate, .respiratoryRate, .oxygenSaturation, .exerciseMinutes,
            .bodyTemperature:
            1
        case .heartRateVariability, .activeEnergy, .vo2Max, .meditationMinutes: 2
        case .distance: 3
        }
    }
}

extension Sample {
    /// The value as text with the fixed decimals of its kind: `61.0`, `0.42`, `120/80`.
    ///
    /// For comparing, not for sending: it is rounded. The step between two texts lies at 0.48 and
    /// not at 0.5, so that a number which ends in a 5 (`0.125` kcal) is not on the edge where the
    /// same number converted from another unit (`0.523` kJ) could fall to the other side. What
    /// really lies within the error of six digits from the edge can still differ: about one
    /// distance of some hundred metres in two thousand, after a change of unit.
    public var canonicalValue: String {
        var bytes: [UInt8] = []
        appendCanonicalValue(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    func appendCanonicalValue(to bytes: inout [UInt8]) {
        switch value {
        case .single(let number):
            appendFixed(number, decimals: kind.decimals, to: &bytes)
        case .pressure(let systolic, let diastolic):
            bytes.append(contentsOf: String(systolic).utf8)
            bytes.append(UInt8(ascii: "/"))
            bytes.append(contentsOf: String(diastolic).utf8)
        case .sleep(let night): night.appendCanonicalValue(to: &bytes)
        case .activity(let day): day.appendCanonicalValue(to: &bytes)
        }
    }
}

extension SleepNight {
    /// Minutes asleep, efficiency of three decimals, wake count, minutes awake, light, deep and REM,
    /// and minutes to sleep or `-`: `431/0.914/3/22/260/71/100/9`.
    fileprivate func appendCanonicalValue(to bytes: inout [UInt8]) {
        bytes.append(contentsOf: "\(totalMinutes)/".utf8)
        appendFixed(efficiency, decimals: 3, to: &bytes)
        let counts = [wakeCount, awakeMinutes, lightMinutes, deepMinutes, remMinutes]
        for count in counts { bytes.append(contentsOf: "/\(count)".utf8) }
        bytes.append(contentsOf: "/\(minutesToSleep.map { String($0) } ?? "-")".utf8)
    }
}

extension ActivityDay {
    /// The day's values in the order of `kinds`, `-` for what is not known:
    /// `8012/5.12/310/30/7/-/58.0`.
    ///
    /// A day is the sum of hundreds of records, each with its own error of six digits, so that sums
    /// are compared more coarsely than single values: by ten metres, by a kilocalorie.
    fileprivate func appendCanonicalValue(to bytes: inout [UInt8]) {
        for (place, kind) in ActivityDay.kinds.enumerated() {
            if place > 0 { bytes.append(UInt8(ascii: "/")) }
            guard let value = self[kind] else {
                bytes.append(UInt8(ascii: "-"))
                continue
            }
            let decimals =
                switch kind {
                case .distance: 2
                case .activeEnergy, .exerciseMinutes: 0
                default: kind.decimals
                }
            appendFixed(value, decimals: decimals, to: &bytes)
        }
    }
}

/// Writes `number` with exactly `decimals` decimals, 0 to 3.
///
/// What no measurement reaches (2^53 steps and more, infinity, not a number) is written in the
/// standard library's shortest form instead, so that the text is still a function of the number.
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
