import ClarityScheduler
import Reports

/// An invented export of the Health app: sixty days of one person, up to the present.
///
/// The same time gives the same export. Its records have the form of those of a phone and a watch,
/// so that everything that reads an export reads this one.
struct DemoExport {
    /// The number of days, the present one included.
    static let days = 60

    private let now: Instant
    private let zone: Zone
    private var random: SeededGenerator
    private var lines: [String] = []

    private enum Device: String {
        case phone = "Demo iPhone"
        case watch = "Demo Watch"
    }

    /// The XML of the export.
    static func text(at now: Instant, in zone: Zone) -> String {
        var export = DemoExport(now, zone)
        let time = zone.text(now).dropFirst("2026-11-20T".count).prefix("23:59:59".count)
        let parts = time.split(separator: ":").compactMap { Int($0) }
        let sinceMidnight = parts.reduce(0) { $0 * 60 + $1 }
        for day in (0..<days).reversed() {
            export.add(dayFrom: now - .seconds(sinceMidnight + day * 86_400), ago: day)
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE HealthData [
            ]>
            <HealthData locale="en_GB">
             <ExportDate value="\(export.date(now))"/>
            \(export.lines.joined(separator: "\n"))
            </HealthData>

            """
    }

    private init(_ now: Instant, _ zone: Zone) {
        self.now = now
        self.zone = zone
        random = SeededGenerator(seed: 1)
    }

    // MARK: A day

    private mutating func add(dayFrom midnight: Instant, ago: Int) {
        addNight(before: midnight)
        // Somebody who moves more at weekends, and a little more from week to week.
        let vigour = (ago % 7 < 2 ? 1.4 : 1) * (1.15 - Double(ago) / 400)
        for hour in 7..<22 {
            let start = midnight + .seconds(hour * 3600 + number(0...1200))
            let end = start + .seconds(number(600...1500))
            let steps = Double(number(100...1100)) * vigour
            add("StepCount", "count", .phone, start, end, steps.rounded())
            add("DistanceWalkingRunning", "km", .phone, start, end, steps * 0.00072)
            add("ActiveEnergyBurned", "kcal", .watch, start, end, steps * 0.041)
        }
        for half in 0..<48 {
            let time = midnight + .seconds(half * 1800 + number(0...900))
            let isAsleep = half < 13 || half > 45
            add("HeartRate", "count/min", .watch, time, time, value(isAsleep ? 50...60 : 62...104))
        }
        let morning = midnight + .seconds(7 * 3600)
        let resting = 57 + Double(ago) / 30
        add(
            "RestingHeartRate", "count/min", .watch, midnight, morning, value(resting...resting + 3)
        )
        add("HeartRateVariabilitySDNN", "ms", .watch, morning, morning, value(38...72))
        add("OxygenSaturation", "%", .watch, morning, morning, value(95...99) / 100)
        if ago % 7 == 0 {
            add("BodyMass", "kg", .phone, morning, morning, 72 + Double(ago) / 40)
        }
        if ago % 3 == 1 { addWorkout(from: midnight + .seconds(18 * 3600)) }
    }

    private mutating func addNight(before midnight: Instant) {
        let stages = ["AsleepCore", "AsleepDeep", "AsleepCore", "AsleepREM", "Awake"]
        var start = midnight - .seconds(number(0...3600))
        let end = midnight + .seconds(6 * 3600 + number(0...3600))
        var stage = 0
        while start < end {
            let name = stages[stage % stages.count]
            let stop = min(
                end, start + .seconds(name == "Awake" ? number(120...600) : number(1200...3000)))
            if stop <= now {
                lines.append(
                    element(
                        "Record", "HKCategoryTypeIdentifierSleepAnalysis", .watch, start, stop,
                        "value=\"HKCategoryValueSleepAnalysis\(name)\"/>"))
            }
            (start, stage) = (stop, stage + 1)
        }
        let breath = midnight + .seconds(3 * 3600)
        add("RespiratoryRate", "count/min", .watch, breath, breath, value(13...17))
    }

    private mutating func addWorkout(from start: Instant) {
        let minutes = number(25...50)
        let end = start + .seconds(minutes * 60)
        guard end <= now else { return }
        let statistics = [
            ("ActiveEnergyBurned", "kcal", minutes * 11),
            ("DistanceWalkingRunning", "km", minutes / 6),
        ].map { name, unit, sum in
            "<WorkoutStatistics type=\"HKQuantityTypeIdentifier\(name)\" startDate=\"\(date(start))\" "
                + "endDate=\"\(date(end))\" sum=\"\(sum)\" unit=\"\(unit)\"/>"
        }
        lines.append(
            " <Workout workoutActivityType=\"HKWorkoutActivityTypeRunning\" duration=\"\(minutes)\" "
                + "durationUnit=\"min\" \(attributes(.watch, start, end))>\(statistics.joined())"
                + "</Workout>")
    }

    // MARK: Elements

    private mutating func add(
        _ type: String, _ unit: String, _ device: Device, _ start: Instant, _ end: Instant,
        _ value: Double
    ) {
        // Nothing is known of the future.
        guard end <= now else { return }
        let rounded = (value * 1000).rounded() / 1000
        lines.append(
            element(
                "Record", "HKQuantityTypeIdentifier\(type)", device, start, end,
                "unit=\"\(unit)\" value=\"\(rounded)\"/>"))
    }

    private func element(
        _ name: String, _ type: String, _ device: Device, _ start: Instant, _ end: Instant,
        _ rest: String
    ) -> String {
        " <\(name) type=\"\(type)\" \(attributes(device, start, end)) \(rest)"
    }

    private func attributes(_ device: Device, _ start: Instant, _ end: Instant) -> String {
        "sourceName=\"\(device.rawValue)\" sourceVersion=\"1.0\" creationDate=\"\(date(end))\" "
            + "startDate=\"\(date(start))\" endDate=\"\(date(end))\""
    }

    /// Returns a time as the Health app writes it: `2026-11-20 07:30:00 +0100`.
    private func date(_ instant: Instant) -> String {
        let text = zone.text(instant)
        let offset = text.hasSuffix("Z") ? "+0000" : String(text.suffix(6).filter { $0 != ":" })
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(8)) \(offset)"
    }

    private mutating func number(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &random)
    }

    private mutating func value(_ range: ClosedRange<Double>) -> Double {
        (Double.random(in: range, using: &random) * 10).rounded() / 10
    }
}
