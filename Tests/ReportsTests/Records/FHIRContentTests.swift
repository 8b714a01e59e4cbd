import ClarityScheduler
import ClarityTestSupport
import HealthModel
import JSON
import Testing

@testable import HealthStore
@testable import Reports

/// What a FHIR server gets, in each grain. All records are invented.
@Suite struct FHIRContentTests {
    /// 2026-01-05T10:00:00Z.
    private static let ten: Int64 = 1_767_607_200
    private static let heartRate = "HKQuantityTypeIdentifierHeartRate"

    /// A record of the archive: `at` is in seconds after ten.
    private struct Entry {
        var at: Int64
        var value: ArchivedRecord.Value = .number(mantissa: 60, decimals: 0)
        var word: String?
        var length: Int64 = 0
        var type = FHIRContentTests.heartRate
        var origin = RecordOrigin(source: "Watch", version: "12.1", unit: "count/min")
        var metadata: [String] = []
        var offset: Int16 = 60

        static func reading(_ at: Int64, _ value: Int64, decimals: UInt8 = 0) -> Entry {
            Entry(at: at, value: .number(mantissa: value, decimals: decimals))
        }

        func from(_ source: String, unit: String = "count/min") -> Entry {
            var entry = self
            entry.origin = RecordOrigin(source: source, unit: unit)
            return entry
        }

        func of(_ type: String, unit: String) -> Entry {
            var entry = self
            (entry.type, entry.origin.unit) = (type, unit)
            return entry
        }
    }

    private let bench: StoreBench
    private let store: HealthStore
    private let patient = FHIRPatient.reference("Patient/42")

    init() throws {
        bench = try StoreBench()
        store = try bench.store()
    }

    private func keep(_ entries: [Entry], in store: HealthStore? = nil) throws {
        var collector = ArchiveCollector()
        for entry in entries {
            let start = Self.ten + entry.at
            let metadata: [UInt8] = entry.metadata.flatMap { Array($0.utf8) + [0] }
            let record = ArchivedRecord(
                start: start, end: start + entry.length, created: start + 30,
                offsets: ClockOffsets(start: entry.offset, end: entry.offset, created: 60),
                origin: collector.texts.index(of: entry.origin.bytes),
                value: entry.word.map { .text(collector.texts.index(of: Array($0.utf8))) }
                    ?? entry.value,
                metadata: metadata.isEmpty ? nil : collector.texts.index(of: metadata))
            let type = collector.type(entry.type)
            collector.add(record, type: try #require(type))
        }
        _ = try (store ?? self.store).archive.keep(collector, of: nil, zone: nil)
    }

    private func content(
        _ grain: FHIRGrain, _ types: [String] = [], in zone: Zone = .utc,
        _ store: HealthStore? = nil
    ) throws -> FHIRContent {
        try FHIRContent(of: store ?? self.store, patient, grain, types: types, in: zone)
    }

    private struct Sent {
        let id: FHIRID
        let version: UInt64
        let resource: JSON
        let text: String
    }

    /// Returns the resources of all parts but the devices; or those of the part with a name.
    private func sent(_ content: FHIRContent, of name: String? = nil) throws -> [Sent] {
        try content.parts().filter { name == nil ? $0.resource != "Device" : $0.name == name }
            .flatMap { part -> [Sent] in
                var portion = try content.portion(of: part)
                #expect(portion.damage == nil)
                return try portion.resources.indices.map { index in
                    let bytes = portion.resource(at: index)
                    let (id, version) = portion.resources[index]
                    let resource = try JSONParser.parse(bytes)
                    #expect(resource["id"]?.text == id.text)
                    #expect(resource["resourceType"]?.text == part.resource)
                    return Sent(
                        id: id, version: version, resource: resource,
                        text: String(decoding: bytes, as: UTF8.self))
                }
            }
    }

    private func digests(_ content: FHIRContent) throws -> [String: UInt64] {
        Dictionary(
            try content.parts().map { ($0.name, $0.digest) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    // MARK: Ids and parts

    @Test func `an id comes back from its text, and nothing else is one`() {
        let id = FHIRID(high: 0x0123_4567_89AB_8DEF, low: 0x8011_2233_4455_6677)

        #expect(id.text == "01234567-89ab-8def-8011-223344556677")
        #expect(FHIRID(id.text) == id)
        for text in [
            "", "01234567-89ab-8def-8011-22334455667", "01234567-89AB-8def-8011-223344556677",
            "0123456789ab-8def-8011-2233445566770", "01234567-89ab-8def-8011-22334455667g",
        ] {
            #expect(FHIRID(text) == nil, "\(text)")
        }
        #expect(FHIRID(high: 1, low: 2) < FHIRID(high: 1, low: 3))
    }

    @Test(arguments: FHIRGrain.allCases)
    func `two accounts with the same records have no id in common`(grain: FHIRGrain) throws {
        let entries: [Entry] = [
            .reading(0, 60), .reading(5, 61), .reading(9, 62).of("Own", unit: "sip"),
        ]
        let other = try StoreBench().store()
        try keep(entries)
        try keep(entries, in: other)

        let ours = try sent(content(grain)).map(\.id)
        let devices = try sent(content(grain), of: "devices").map(\.id)

        #expect(ours.count >= 2 && Set(ours).count == ours.count && devices.count == 1)
        #expect(try sent(content(grain)).map(\.id) == ours)
        #expect(Set(ours).isDisjoint(with: try sent(content(grain, [], other)).map(\.id)))
        #expect(
            Set(devices).isDisjoint(
                with: try sent(content(grain, [], other), of: "devices").map(\.id)))
    }

    @Test(arguments: FHIRGrain.allCases)
    func `a part has another digest when its month has more records, and no other part`(
        grain: FHIRGrain
    ) throws {
        let february: Int64 = 40 * 86_400
        try keep([.reading(0, 60), .reading(february, 61), .reading(90 * 86_400, 62)])
        let before = try digests(content(grain))
        #expect(try digests(content(grain)) == before)

        try keep([.reading(february + 7, 63)])
        let after = try digests(content(grain))

        let changed = Set(after.filter { before[$0.key] != $0.value }.keys)
        let month = grain == .days ? "days" : Self.heartRate
        // A day may begin in the month of UTC beside its own.
        let near = grain == .days ? ["2026-01", "2026-02", "2026-03"] : ["2026-02"]
        #expect(changed == Set(["devices"] + near.map { "\(month) \($0)" }))
        #expect(try content(grain).parts().first?.resource == "Device")
    }

    @Test func `only types that somebody names are sent, and some only then`() throws {
        try keep([
            .reading(0, 60), .reading(0, 1).of("WorkoutRoutePoint", unit: "m"),
            .reading(0, 1).of("ClinicalRecordFile", unit: "m"),
        ])

        #expect(try sent(content(.single)).count == 1)
        #expect(try sent(content(.single, ["heart_rate", "WorkoutRoutePoint", "New"])).count == 2)
        #expect(try sent(content(.single, ["ClinicalRecordFile"])).isEmpty)
    }

    // MARK: Hours

    private func series(_ entries: [Entry]) throws -> [Sent] {
        try keep(entries)
        return try sent(content(.hourly))
    }

    @Test func `the readings of an hour are one series with its gaps`() throws {
        let found = try series([
            .reading(0, 605, decimals: 1), .reading(5, 61), .reading(15, 62),
        ])

        #expect(found.count == 1)
        let one = try #require(found.first?.resource)
        let data = try #require(one["valueSampledData"])
        #expect(data["data"]?.text == "60.5 61 E 62" && data["period"] == 5000)
        #expect(data["dimensions"] == 1 && data["origin"]?["value"] == 0)
        #expect(data["origin"]?["code"]?.text == "/min")
        #expect(
            one["effectivePeriod"] == [
                "start": "2026-01-05T11:00:00+01:00", "end": "2026-01-05T11:00:15+01:00",
            ])
        #expect(one["issued"]?.text == "2026-01-05T11:00:45+01:00")
        // R4's profile of a heart rate wants a quantity.
        #expect(one["meta"] == nil)
    }

    @Test func `a later reading of the hour is a new version of the same resource`() throws {
        let first = try series([.reading(20, 61)])
        let second = try series([.reading(0, 60)])
        let third = try series([.reading(30, 62)])

        #expect(first.map(\.id) == second.map(\.id) && second.map(\.id) == third.map(\.id))
        #expect(Set((first + second + third).map(\.version)).count == 3)
        #expect(try sent(content(.hourly)).map(\.version) == third.map(\.version))
        // A single reading is shown as a quantity, which every reader knows.
        #expect(first[0].resource["valueQuantity"]?["value"] == 61)
        #expect(third[0].resource["valueSampledData"]?["data"]?.text == "60 E 61 62")
    }

    @Test func `what a series would lose goes alone`() throws {
        let same = [Entry.reading(0, 60), .reading(0, 61)]
        let text = Entry(at: 40, word: "many")
        let long = Entry(at: 50, length: 9)
        var moving = Entry.reading(60, 70)
        moving.metadata = ["HKMetadataKeyHeartRateMotionContext", "2"]
        let rare = Entry.reading(70, 80).of("HKQuantityTypeIdentifierBodyMass", unit: "kg")
        let other = Entry.reading(80, 81).from("Chest strap")
        let unit = Entry.reading(85, 1).from("Watch", unit: "count/s")
        let next = Entry.reading(3600, 82)
        let sum = Entry.reading(90, 5).of("HKQuantityTypeIdentifierStepCount", unit: "count")

        let found = try series(
            same + [
                .reading(10, 62), .reading(20, 63), text, long, moving, rare, other, unit, next,
                sum,
            ])

        let values = found.map { one in
            one.resource["valueSampledData"]?["data"]?.text
                ?? one.resource["valueQuantity"]?["value"]?.line
                ?? one.resource["valueString"]?.text ?? ""
        }
        #expect(
            values.sorted() == [
                "1", "5", "60", "60", "61", "62 63", "70", "80", "81", "82", "many",
            ])
        // The text, the long one, both of one instant, the weight and the steps.
        #expect(found.count { $0.version == 0 } == 6)
        #expect(Set(found.map(\.id)).count == found.count)
    }

    @Test func `the first of two readings of one instant leaves the series when the second comes`()
        throws
    {
        let before = try series([.reading(0, 60), .reading(10, 61)])
        let after = try series([.reading(0, 75)])

        #expect(before.count == 1 && after.count == 3)
        let hour = try #require(after.first { $0.id == before[0].id })
        #expect(hour.resource["valueQuantity"]?["value"] == 61)
        #expect(hour.version != before[0].version)
    }

    // MARK: Days

    private func addDay(steps: Double, asOf: Int64) throws {
        var day = ActivityDay()
        (day.steps, day.restingHeartRate, day.activeEnergy) = (steps, 55, 512.4)
        let start = Instant(secondsSince1970: Self.ten - 10 * 3600)
        _ = try store.outbox.enqueue(
            aggregates: [
                Sample(
                    kind: .activity, start: start, end: start + .seconds(86_400),
                    value: .activity(day))
            ], asOf: Instant(secondsSince1970: Self.ten + asOf))
    }

    private func records(_ types: String...) -> [Entry] {
        types.map { Entry.reading(0, 60).of("HKQuantityTypeIdentifier\($0)", unit: "count") }
    }

    @Test func `a corrected day is a new version of the same resource`() throws {
        try keep(records("StepCount"))
        try addDay(steps: 1000, asOf: 0)
        let first = try sent(content(.days))
        let before = try digests(content(.days))
        try addDay(steps: 1200, asOf: 50)
        let second = try sent(content(.days))

        #expect(first.count == 1 && second.count == 1)
        #expect(first[0].id == second[0].id && first[0].version != second[0].version)
        #expect(second[0].resource["valueQuantity"]?["value"] == 1200)
        #expect(try digests(content(.days)) != before)
        #expect(try digests(content(.days))["devices"] == before["devices"])
    }

    @Test func `the measures of a day have the codes of the Physical Activity guide`() throws {
        try keep(records("StepCount", "ActiveEnergyBurned", "RestingHeartRate"))
        try addDay(steps: 1000, asOf: 0)

        let found = try sent(content(.days, ["StepCount", "ActiveEnergyBurned"]))

        let codes = found.map { one -> String in
            guard case .array(let list)? = one.resource["code"]?["coding"] else { return "" }
            let value = one.resource["valueQuantity"]
            return "\(list[0]["code"]?.text ?? "") \(value?["value"]?.line ?? "") "
                + "\(value?["code"]?.text ?? "")"
        }
        #expect(codes == ["41950-7 1000 /d", "41979-6 512.4 kcal/d"])
        for one in found {
            #expect(one.resource["effectiveDateTime"]?.text == "2026-01-05")
            #expect(
                one.text.contains(#""code":"activity"}]},{"coding":[{"system":"http://hl7.org/"#))
            #expect(one.text.contains(#""code":"PhysicalActivity"}"#))
            #expect(one.resource["performer"] == [["reference": "Patient/42"]])
        }
    }

    @Test func `a day of a level has its mean, its least and its greatest`() throws {
        try keep([.reading(0, 60), .reading(60, 80), .reading(120, 100)])
        try keep([
            .reading(0, 96, decimals: 2).of("HKQuantityTypeIdentifierOxygenSaturation", unit: "%")
        ])

        let found = try sent(content(.days))

        #expect(found.count == 3)
        let greatest = try #require(found.first { $0.text.contains("8873-2") })
        let mean = try #require(found.first { $0.text.contains("41924-2") })
        let share = try #require(found.first { $0.text.contains("OxygenSaturation") })
        #expect(greatest.resource["valueQuantity"]?["value"] == 100)
        #expect(mean.resource["valueQuantity"]?["value"] == 80)
        #expect(mean.text.contains(#""text":"minimum"},"valueQuantity":{"value":60,"#))
        #expect(mean.text.contains(#""text":"count"},"valueQuantity":{"value":3,"#))
        #expect(
            mean.resource["effectivePeriod"] == [
                "start": "2026-01-05T00:00:00+00:00", "end": "2026-01-05T23:59:59+00:00",
            ])
        #expect(share.resource["valueQuantity"]?["value"] == 96)
    }

    @Test func `a night is one resource with its stages, on the day on which it ends`() throws {
        func part(_ stage: String, _ from: Int64, _ to: Int64) -> Entry {
            var entry = Entry(
                at: from * 60, word: "HKCategoryValueSleepAnalysis\(stage)",
                length: (to - from) * 60)
            entry.type = FHIRDays.sleep
            return entry
        }
        // From 23:00 of the last day of January on.
        let start: Int64 = 26 * 1440 + 13 * 60
        try keep([
            part("AsleepCore", start, start + 100), part("AsleepDeep", start + 100, start + 160),
            part("Awake", start + 160, start + 170), part("AsleepREM", start + 170, start + 200),
        ])

        let content = try content(.days)
        let january = try sent(content, of: "days 2026-01")
        let found = try sent(content, of: "days 2026-02")

        #expect(january.isEmpty && found.count == 1)
        #expect(found[0].resource["valueQuantity"]?["value"] == 190)
        #expect(
            found[0].resource["effectivePeriod"]?["start"]?.text == "2026-01-31T23:00:00+00:00")
        for wanted in [
            #""code":"93832-4""#, #""code":"93831-6""#,
            #""text":"AsleepDeep"},"valueQuantity":{"value":60,"#,
            #""text":"AsleepREM"},"valueQuantity":{"value":30,"#,
            #""text":"Awake"},"valueQuantity":{"value":10,"#,
        ] {
            #expect(found[0].text.contains(wanted), "\(wanted)")
        }
    }

    @Test func `a type that no day measures goes one by one`() throws {
        try keep([
            .reading(0, 60),
            .reading(1, 90).of("HKQuantityTypeIdentifierBloodGlucose", unit: "mg/dL"),
        ])

        let names = try content(.days).parts().map(\.name)

        #expect(names.contains("HKQuantityTypeIdentifierBloodGlucose 2026-01"))
        #expect(!names.contains { $0.hasPrefix(Self.heartRate) })
    }

    // MARK: Devices and profiles

    @Test func `a device is one resource, whatever its address in the memory of the phone`() throws
    {
        func worn(_ device: String, _ at: Int64) -> Entry {
            var entry = Entry.reading(at, 60)
            entry.origin.device = device
            return entry
        }
        let text =
            "name:Apple Watch, manufacturer:Apple Inc., model:Watch, "
            + "hardware:Watch7,1, software:12.1, localIdentifier:ABC"
        try keep([
            worn("<<HKDevice: >, \(text)>", 0),
            worn("<<HKDevice: 0x2803d9810>, \(text), creation date:2024-08-24 17:12:03 +0000>", 1),
            worn("<<HKDevice: >, \(text.replacing("12.1", with: "12.2"))>", 2),
        ])

        let devices = try sent(content(.single), of: "devices")
        let one = try #require(
            devices.first { $0.text.contains("\"value\":\"12.1\"},{\"type\":{\"text\":\"source\"") }
        )

        #expect(devices.count == 2)
        #expect(one.resource["manufacturer"]?.text == "Apple Inc.")
        #expect(one.resource["modelNumber"]?.text == "Watch")
        #expect(
            one.resource["deviceName"] == [
                ["name": "Watch", "type": "user-friendly-name"],
                ["name": "Apple Watch", "type": "model-name"],
            ])
        #expect(one.text.contains(#"{"type":{"text":"hardware"},"value":"Watch7,1"}"#))
        #expect(one.resource["note"] == [["text": "localIdentifier: ABC"]])
        #expect(one.resource["patient"] == ["reference": "Patient/42"])
        #expect(!one.text.contains("0x") && !one.text.contains("creation"))
        let references = try sent(content(.single)).compactMap {
            $0.resource["device"]?["reference"]?.text
        }
        #expect(Set(references) == Set(devices.map { "Device/\($0.id.text)" }))
        #expect(references.count == 3)
    }

    @Test func `a file that would be too large for a server goes on in another one`() throws {
        let folder = try TemporaryFolder()
        try keep((0..<3000).map { .reading(60 * $0, 60) })
        let types = try RecordExport.types(of: store, named: [])

        let export = RecordExport(
            store, as: .fhir, to: "\(folder.path)/out", of: patient, in: .utc,
            largestFile: 600_000)
        let receipt = try export.run(types) { _ in }

        let part = try #require(receipt.parts.first)
        let names =
            ["Observation.\(Self.heartRate).ndjson"]
            + (2...max(2, part.files)).map { "Observation.\(Self.heartRate).\($0).ndjson" }
        let files = try names.map { try TemporaryFolder.read("\(folder.path)/out/\($0)") }
        #expect(part.files >= 2 && part.name == names[0] && part.records == 3000)
        #expect(files.allSatisfy { $0.count <= 600_000 && $0.last == 0x0A })
        let ids = try files.flatMap { file in
            try file.split(separator: 0x0A).map { try JSONParser.parse(Array($0))["id"]?.text }
        }
        #expect(try ids == sent(content(.single)).map(\.id.text))
        #expect(receipt.lines[0] == "\(names[0]): 3000 records in \(part.files) files")
    }

    @Test(arguments: [
        ("HeartRate", "count/min", "heartrate"), ("HeartRate", "count/s", nil),
        ("RespiratoryRate", "count/min", "resprate"), ("OxygenSaturation", "%", "oxygensat"),
        ("BodyTemperature", "degC", "bodytemp"), ("BodyTemperature", "K", nil),
        ("BodyMass", "lb", "bodyweight"), ("BodyMass", "st", nil), ("Height", "cm", "bodyheight"),
        ("Height", "m", nil), ("BodyMassIndex", "count", "bmi"),
        ("RestingHeartRate", "count/min", "vitalsigns"),
        ("BloodPressureSystolic", "mmHg", "vitalsigns"), ("StepCount", "count", nil),
    ])
    func `a profile of vital signs is named where a record meets it`(
        type: String, unit: String, profile: String?
    ) throws {
        let reading = Entry.reading(0, 60).of("HKQuantityTypeIdentifier\(type)", unit: unit)
        var text = reading
        (text.at, text.word) = (1, "sixty")

        try keep([reading, text])
        let found = try sent(content(.single))

        let name = profile.map { "http://hl7.org/fhir/StructureDefinition/\($0)" }
        #expect(found[0].resource["meta"]?["profile"]?.texts == name.map { [$0] })
        #expect(found[1].resource["meta"] == nil)
    }
}
