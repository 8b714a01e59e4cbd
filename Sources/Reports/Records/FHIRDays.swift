import HealthStore
import HealthModel
import ClarityScheduler
import JSON

/// The days and nights of a month as Observations: one for each day and quantity, and one for each
/// night.
///
/// Steps, energy and the like are the merged days that `metrics` shows. Of levels such as the heart
/// rate a day has the mean, the least and the greatest of all records. An id is made of the quantity
/// and the day, so that a day with another value is a new version of the same resource.
struct FHIRDays {
    /// What a day has of a type, and its codes.
    struct Quantity: Sendable {
        /// Part of the id, which stays as it is.
        let name: String
        /// The type of the records without HealthKit's prefix.
        let type: String
        let value: Value
        let loinc: [FHIRCoding.Code]
        let category: [String]
        /// The unit in UCUM; `nil` for that of the records.
        let unit: String?
        /// Whether it is a measure of the Physical Activity guide, which wants dates
        /// (pa-observation-time-measure, 1.0.0).
        var isPhysicalActivity = false

        enum Value: Hashable, Sendable {
            /// The merged day of a measure.
            case merged(Measure)
            /// The mean of the records, with the least and the greatest.
            case mean
            case greatest
        }
    }

    static let quantities = [
        Quantity(
            name: "steps", type: "StepCount", value: .merged(.steps),
            loinc: [("41950-7", "Number of steps in 24 hour Measured")], category: ["activity"],
            unit: "/d", isPhysicalActivity: true),
        Quantity(
            name: "active energy", type: "ActiveEnergyBurned", value: .merged(.activeEnergy),
            loinc: [("41979-6", "Calories burned in 24 hour Calculated")], category: ["activity"],
            unit: "kcal/d", isPhysicalActivity: true),
        Quantity(
            name: "exercise", type: "AppleExerciseTime", value: .merged(.exerciseMinutes),
            loinc: [("55411-3", "Exercise duration")], category: ["activity"], unit: "min",
            isPhysicalActivity: true),
        Quantity(
            name: "resting heart rate", type: "RestingHeartRate",
            value: .merged(.restingHeartRate), loinc: [("40443-4", "Heart rate --resting")],
            category: ["activity", "vital-signs"], unit: "/min", isPhysicalActivity: true),
        Quantity(
            name: "greatest heart rate", type: "HeartRate", value: .greatest,
            loinc: [("8873-2", "Heart rate 24 hour maximum")],
            category: ["activity", "vital-signs"], unit: nil, isPhysicalActivity: true),
        Quantity(
            name: "heart rate", type: "HeartRate", value: .mean,
            loinc: [("41924-2", "Heart rate 24 hour mean")], category: ["vital-signs"], unit: nil),
        Quantity(
            name: "distance", type: "DistanceWalkingRunning", value: .merged(.distance), loinc: [],
            category: ["activity"], unit: "km"),
        Quantity(
            name: "flights", type: "FlightsClimbed", value: .merged(.flightsClimbed), loinc: [],
            category: ["activity"], unit: "{flights}"),
        Quantity(
            name: "VO2 max", type: "VO2Max", value: .merged(.vo2Max), loinc: [],
            category: ["exam"], unit: "mL/min/kg"),
        Quantity(
            name: "heart rate variability", type: "HeartRateVariabilitySDNN", value: .mean,
            loinc: [], category: ["exam"], unit: nil),
        Quantity(
            name: "oxygen saturation", type: "OxygenSaturation", value: .mean, loinc: [],
            category: ["vital-signs"], unit: nil),
        Quantity(
            name: "respiratory rate", type: "RespiratoryRate", value: .mean, loinc: [],
            category: ["vital-signs"], unit: nil),
    ]

    static let sleep = "HKCategoryTypeIdentifierSleepAnalysis"
    /// The duration of sleep and of its stages.
    static let asleep: FHIRCoding.Code = ("93832-4", "Sleep duration")
    static let stages: [(names: [String], loinc: [FHIRCoding.Code], measure: Measure)] = [
        (["AsleepDeep"], [("93831-6", "Deep sleep duration")], .deepSleep),
        (Night.coreStages, [("93830-8", "Light sleep duration")], .lightSleep),
        (["AsleepREM"], [("93829-0", "REM sleep duration")], .remSleep),
        (["Awake"], [], .awake),
    ]

    /// Whether days or nights have what a type's records say.
    static func cover(_ type: ArchivedType) -> Bool {
        type.name == sleep
            || quantities.contains { "HKQuantityTypeIdentifier\($0.type)" == type.name }
    }

    private let recipient: Recipient
    /// The types of which days are wanted.
    private let types: [ArchivedType]
    private let range: Range<Int64>
    private let reader: HealthReader
    private let hash: KeyedHash
    private var local: LocalDays
    private var times = TimeWriter()
    private(set) var damage: String?
    private(set) var records = 0
    private(set) var resources: [(id: FHIRID, bytes: [UInt8])] = []

    private var zone: Zone { local.zone }

    /// - Parameter range: the starts of the days that are wanted, in seconds since 1970.
    init(
        of types: [ArchivedType], in zone: Zone, _ range: Range<Int64>, _ recipient: Recipient
    ) {
        (self.types, self.range, self.recipient) = (types, range, recipient)
        // What is read does not depend on the present.
        reader = HealthReader(
            recipient.store, now: Instant(secondsSince1970: 0), zone: zone,
            style: PageStyle(width: 80, isPlain: true), form: .json)
        hash = KeyedHash(of: "FHIR days", in: recipient.store)
        local = LocalDays(zone: zone)
    }

    /// Adds the days of a month, counted from January 1970, and the nights that end on them.
    mutating func add(month: Int) throws(HealthStoreError) {
        let seconds = TypeMonth(type: "", month: month).seconds
        let days = Int(seconds.lowerBound / 86_400)...Int(seconds.upperBound / 86_400 - 1)
        try addMerged(days)
        try addLevels(days)
        try addNights(days)
    }

    // MARK: Days

    private func type(_ quantity: Quantity) -> ArchivedType? {
        types.first { $0.name == "HKQuantityTypeIdentifier\(quantity.type)" }
    }

    private mutating func addMerged(_ days: ClosedRange<Int>) throws(HealthStoreError) {
        let wanted = FHIRDays.quantities.compactMap { quantity -> (Quantity, Measure)? in
            guard case .merged(let measure) = quantity.value, type(quantity) != nil else {
                return nil
            }
            return (quantity, measure)
        }
        guard !wanted.isEmpty else { return }
        var report = HealthReport()
        let figures = try reader.figures(of: .activity, in: days, &report)
        damage = damage ?? report.damageLine
        for (quantity, measure) in wanted {
            for figure in figures[measure] ?? [] {
                let value = figure.value(of: measure)
                add(
                    quantity, figure.day, measure.unit == "count" ? value.rounded() : value,
                    unit: quantity.unit, code: quantity.unit, [])
            }
            if let type = type(quantity) {
                let found = try recipient.store.archive.days(of: type, in: days, zone)
                records += found.days.reduce(0) { $0 + Int($1.count) }
            }
        }
    }

    private mutating func addLevels(_ days: ClosedRange<Int>) throws(HealthStoreError) {
        for type in types {
            let quantities = FHIRDays.quantities.filter { quantity in
                [.mean, .greatest].contains(quantity.value) && self.type(quantity) == type
            }
            guard !quantities.isEmpty else { continue }
            let found = try recipient.store.archive.days(of: type, in: days, zone)
            damage = damage ?? found.damaged.first?.damage
            for day in found.days {
                records += Int(day.count)
                guard day.hasNumbers else { continue }
                let code = FHIRCoding(type: type.name, unit: day.unit).unit
                // As in `RecordObservations`: HealthKit writes a percentage as a share.
                let scale = day.unit == "%" && day.most <= 1 ? 100.0 : 1
                for quantity in quantities {
                    guard quantity.value == .mean else {
                        add(quantity, day.day, day.most * scale, unit: day.unit, code: code, [])
                        continue
                    }
                    let least: [FHIRCoding.Code] =
                        quantity.type == "HeartRate"
                        ? [("8883-1", "Heart rate 24 hour minimum")] : []
                    let parts = [
                        component("minimum", least, day.least * scale, day.unit, code),
                        component("maximum", [], day.most * scale, day.unit, code),
                        component("count", [], Double(day.count), "count", "{count}"),
                    ]
                    let mean = day.sum / Double(day.count) * scale
                    add(quantity, day.day, mean, unit: day.unit, code: code, parts)
                }
            }
        }
    }

    private mutating func add(
        _ quantity: Quantity, _ number: Int, _ value: Double, unit: String?, code: String?,
        _ components: [[UInt8]]
    ) {
        let day = local.day(number)
        guard range.contains(day.start) else { return }
        // Records of one type may have several units.
        let ofRecords = quantity.unit == nil ? unit ?? "" : ""
        let id = hash.id(
            of: Array(quantity.name.utf8), Array(ofRecords.utf8), at: Int64(number))
        let effective: JSON.Member =
            quantity.isPhysicalActivity
            ? JSON.Member(
                name: "effectiveDateTime",
                value: .string(CivilDay(daysSince1970: number).description))
            : period(day.start, day.end - 1)
        add(
            id, type: "HKQuantityTypeIdentifier\(quantity.type)", quantity.loinc,
            quantity.category, isPhysicalActivity: quantity.isPhysicalActivity, effective, value,
            unit, code, components)
    }

    // MARK: Nights

    private mutating func addNights(_ days: ClosedRange<Int>) throws(HealthStoreError) {
        guard types.contains(where: { $0.name == FHIRDays.sleep }) else { return }
        var report = HealthReport()
        let figures = try reader.figures(of: .sleep, in: days, &report)
            .mapValues { figures in
                Dictionary(
                    figures.map { ($0.day, $0.sum) }, uniquingKeysWith: { first, _ in first })
            }
        // A night begins on the day before, and the last one is known by what follows it.
        let around = (days.lowerBound - 1)...(days.upperBound + 1)
        let rows = try reader.singleRecords("SleepAnalysis", in: around, &report)
        damage = damage ?? report.damageLine
        guard let rows else {
            damage = damage ?? "more than \(HealthReader.mostRecords) records of sleep in a month"
            return
        }
        for night in Night.nights(of: rows, in: zone)
        where days.contains(night.day) && range.contains(night.start) {
            records += night.parts.count
            let known = figures[.totalSleep]?[night.day]
            let parts = FHIRDays.stages.compactMap { stage -> [UInt8]? in
                let minutes =
                    known == nil
                    ? night.minutes(stage.names) : figures[stage.measure]?[night.day]
                guard let minutes, let name = stage.names.first else { return nil }
                return FHIRCoding.component(
                    FHIRCoding.concept(
                        stage.loinc, type: "HKCategoryValueSleepAnalysis\(name)", text: name),
                    roundedJSON(minutes).line, unit: "min", code: "min")
            }
            add(
                hash.id(of: Array("night".utf8), at: Int64(night.day)), type: FHIRDays.sleep,
                [FHIRDays.asleep], ["activity"],
                isPhysicalActivity: false, period(night.start, night.end), known ?? night.asleep,
                "min", "min", parts)
        }
    }

    // MARK: Resources

    private mutating func period(_ start: Int64, _ end: Int64) -> JSON.Member {
        let value: JSON = ["start": .string(time(start)), "end": .string(time(end))]
        return JSON.Member(name: "effectivePeriod", value: value)
    }

    private mutating func time(_ seconds: Int64) -> String {
        let offset = (LocalDays.clock(at: seconds, in: zone) - seconds) / 60
        return times.text(seconds, Int16(truncatingIfNeeded: offset))
    }

    private func component(
        _ name: String, _ loinc: [FHIRCoding.Code], _ value: Double, _ unit: String?,
        _ code: String?
    ) -> [UInt8] {
        FHIRCoding.component(
            FHIRCoding.concept(loinc, type: "", text: name), roundedJSON(value).line, unit: unit,
            code: code)
    }

    private mutating func add(
        _ id: FHIRID, type: String, _ loinc: [FHIRCoding.Code], _ categories: [String],
        isPhysicalActivity: Bool, _ effective: JSON.Member, _ value: Double, _ unit: String?,
        _ code: String?, _ components: [[UInt8]]
    ) {
        let subject = recipient.patient.subject
        let head: JSON = [
            "resourceType": "Observation", "id": .string(id.text), "status": "final",
            "category": FHIRCoding.categories(categories, isPhysicalActivity: isPhysicalActivity),
            "code": FHIRCoding.concept(loinc, type: type, text: ArchivedType.shortName(of: type)),
            "subject": subject,
            "performer": isPhysicalActivity && recipient.patient != nil ? [subject] : .null,
        ]
        var bytes: [UInt8] = head.withoutNulls.adding(.object([effective])).bytes.dropLast()
        bytes += Array(#","valueQuantity":{"value":\#(roundedJSON(value).line)"#.utf8)
        bytes += FHIRCoding.bytes(ofUnit: unit, code: code)
        if !components.isEmpty {
            bytes += #","component":["#.utf8
            bytes += components.joined(separator: [UInt8(ascii: ",")])
            bytes.append(UInt8(ascii: "]"))
        }
        bytes.append(UInt8(ascii: "}"))
        resources.append((id, bytes))
    }
}
