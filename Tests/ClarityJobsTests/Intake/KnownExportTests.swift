import ClarityScheduler
import ClarityTestSupport
import Glibc
import Database
import Testing

@testable import HealthStore
@testable import HealthModel
@testable import Import
@testable import ClarityJobs

/// Tests that an export that comes again leaves the store as a whole reading of it would.
@Suite struct KnownExportTests {
    private let folder: TemporaryFolder
    private let now = Instant(secondsSince1970: 4_000_000_000)

    init() throws { folder = try TemporaryFolder() }

    /// An account of its own.
    private struct Account {
        let bench = WorkBench()
        let store: HealthStore

        init(at now: Instant) throws {
            bench.clock.set(now)
            store = try bench.store()
        }

        func read(_ source: any SampleSource) throws -> IntakeResult {
            try SourceIntake(store: store, clock: bench.clock).read(source) { _ in }
        }

        /// Forgets what is known of exports, so that the next one is read as a whole.
        func forget() throws {
            try store.change { try $0.run("DELETE FROM segment_marks") }
        }

        /// Everything that readings leave but their own entries in the ledger.
        func contents() throws -> [String] {
            var lines: [String] = []
            for type in try store.archive.types() {
                for month in type.months {
                    let month = TypeMonth(type: type.name, month: month)
                    let segment = try store.archive.records(of: month).sound
                    lines += segment.records.map { record in
                        let texts = [record.origin, record.metadata].map { index in
                            index.map { String(decoding: segment.texts[$0], as: UTF8.self) } ?? ""
                        }
                        return "\(type.name) \(record.start) \(record.end) \(record.value) \(texts)"
                    }
                }
            }
            try store.access { connection in
                let rows = try connection.all(
                    "SELECT \(SampleRow.Column.list) FROM outbox", map: SampleRow.init)
                for row in rows {
                    let plain = try store.cipher.open(row.encrypted, for: row.identity)
                    lines.append("\(row.kind) \(row.start) \(row.end) \(plain)")
                }
            }
            return lines.sorted()
        }
    }

    /// The clock of the phone is this many hours ahead of UTC.
    private static func exportDate(ahead: Int = 0) -> String {
        #"<ExportDate value="2024-03-01 \#(12 + ahead):00:00 +0\#(ahead)00"/>"#
    }

    private static func record(
        _ type: String, _ unit: String, _ start: String, _ end: String, _ value: String,
        metadata: String = ""
    ) -> String {
        let head =
            #"<Record type="HK\#(type)" sourceName="Watch" sourceVersion="9" "#
            + #"device="&lt;&lt;HKDevice: 0x2803d9810&gt;, name:Apple Watch&gt;" unit="\#(unit)" "#
            + #"creationDate="\#(end)" startDate="\#(start)" endDate="\#(end)" value="\#(value)""#
        return metadata.isEmpty ? head + "/>" : head + ">\(metadata)</Record>"
    }

    /// Records of two months: heart rates, steps, a night, a type without a field, a blood pressure
    /// that only a correlation has, a summary, a workout, and a record without a date.
    private static func records(ahead: Int = 0) -> [String] {
        func time(_ day: String, _ hour: Int, _ minute: Int = 0) -> String {
            let (hour, minute) = (hour + ahead, minute == 0 ? "00" : "\(minute)")
            return "2024-\(day) \(hour < 10 ? "0" : "")\(hour):\(minute):00 +0\(ahead)00"
        }
        var records: [String] = []
        for month in ["01", "02"] {
            for hour in 10..<16 {
                let start = time("\(month)-10", hour)
                records.append(
                    record(
                        "QuantityTypeIdentifierHeartRate", "count/min", start, start,
                        "\(50 + hour)",
                        metadata: #"<MetadataEntry key="Context" value="1"/>"#))
                records.append(
                    record(
                        "QuantityTypeIdentifierStepCount", "count", start,
                        time("\(month)-10", hour, 15), "100"))
                records.append(
                    record("QuantityTypeIdentifierBodyMass", "kg", start, start, "70.5"))
            }
            for (hour, stage) in ["AsleepCore", "AsleepDeep", "AsleepREM", "Awake"].enumerated() {
                let (start, end) = (
                    time("\(month)-11", hour + 1), time("\(month)-11", hour + 1, 59)
                )
                records.append(
                    #"<Record type="HKCategoryTypeIdentifierSleepAnalysis" sourceName="Watch" "#
                        + #"startDate="\#(start)" endDate="\#(end)" "#
                        + #"value="HKCategoryValueSleepAnalysis\#(stage)">"#
                        + #"<MetadataEntry key="HKTimeZone" value="Europe/London"/></Record>"#)
            }
        }
        let date = time("02-12", 8)
        func half(_ name: String, _ value: String) -> String {
            record("QuantityTypeIdentifierBloodPressure\(name)", "mmHg", date, date, value)
        }
        records.append(
            #"<Correlation type="HKCorrelationTypeIdentifierBloodPressure" sourceName="Watch" "#
                + #"startDate="\#(date)" endDate="\#(date)">\#(half("Systolic", "120"))"#
                + #"\#(half("Diastolic", "80"))</Correlation>"#)
        records.append(
            #"<ActivitySummary dateComponents="2024-02-10" activeEnergyBurned="300" "#
                + #"activeEnergyBurnedUnit="kcal" appleExerciseTime="30"/>"#)
        records.append(
            #"<Workout workoutActivityType="HKWorkoutActivityTypeRunning" sourceName="Watch" "#
                + #"startDate="\#(date)" endDate="\#(date)" duration="7"/>"#)
        records.append(
            #"<Record type="HKQuantityTypeIdentifierHeartRate" sourceName="Watch" "#
                + #"unit="count/min" startDate="?" endDate="?" value="1"/>"#)
        return records
    }

    private let records = Self.records()

    private func export(
        _ records: [String], exportDate: String = exportDate(), name: String = "export.xml"
    ) throws -> AppleHealthExport {
        let text = "<HealthData>\(exportDate)\n\(records.joined(separator: "\n"))\n</HealthData>"
        return AppleHealthExport(path: try folder.write(name, Array(text.utf8)), now: now)
    }

    /// How the same records may come again.
    enum Same: CaseIterable {
        case otherOrder, otherPlace, otherZone, otherPointers, otherOrderOfAttributes
    }

    @Test(arguments: Same.allCases)
    func `the same records in other bytes are known, and change nothing`(same: Same) throws {
        let account = try Account(at: now)
        #expect(try account.read(export(records)).unchangedSince == nil)
        let (before, rows) = (try account.contents(), try ledger(account))
        let again =
            switch same {
            case .otherOrder: try export(records.reversed())
            case .otherPlace: try export(records, name: "other.xml")
            case .otherZone:
                try export(Self.records(ahead: 1), exportDate: Self.exportDate(ahead: 1))
            case .otherPointers:
                try export(records.map { $0.replacing("0x2803d9810", with: "0x1112d9810") })
            case .otherOrderOfAttributes:
                try export(
                    records.map {
                        $0.replacing(
                            #"sourceName="Watch" sourceVersion="9""#,
                            with: #"sourceVersion="9" sourceName="Watch""#)
                    })
            }

        let found = try account.read(again)
        let third = try account.read(again)

        #expect(found.unchangedSince == now && found.same != nil)
        #expect(third.unchangedSince == now && third.same == nil)
        #expect(try account.contents() == before)
        #expect(try ledger(account) == rows)
        #expect(try account.store.outbox.prove().findings.isEmpty)
    }

    @Test func `the same records in an export of another size bring nothing new`() throws {
        let account = try Account(at: now)
        _ = try account.read(export(records))
        let before = try account.contents()
        let again = try export(records.map { $0.replacing("0x2803d9810", with: "0x1") })

        let found = try account.read(again)
        let third = try account.read(again)

        #expect(found.unchangedSince == nil && third.unchangedSince == now)
        #expect(found.enqueued.added == 0 && found.report.archived.new == 0)
        #expect(found.enqueued.duplicates == 13)
        #expect(try account.contents() == before)
        #expect(try account.store.outbox.prove().findings.isEmpty)
    }

    /// What comes after an export, and how often the text is read for that.
    @Test(
        arguments: [
            ("2024-02-10", "2024-03-10", 1), ("2024-02-10", "2023-12-10", 1),
            ("2024-02-10", "2024-02-20", 1), ("2024-01-10", "2024-01-20", 2),
        ])
    func `an export that goes on is read once, and twice if it has changed`(
        day: String, newDay: String, readings: Int
    ) throws {
        let (account, reference) = (try Account(at: now), try Account(at: now))
        for account in [account, reference] { _ = try account.read(export(records)) }
        let later = try export(
            records
                + records.filter { $0.contains(day) }.map { $0.replacing(day, with: newDay) })
        var count = 0

        let result = try SourceIntake(store: account.store, clock: account.bench.clock).read(
            later
        ) { progress in
            if progress.bytesRead > 0 { count += 1 }
        }
        try reference.forget()
        let whole = try reference.read(later)

        #expect(count == readings)
        #expect(result.enqueued == whole.enqueued && whole.enqueued.queued > 0)
        #expect(try account.contents() == reference.contents())
        #expect(try ledger(account) == ledger(reference))
    }

    @Test func `two workouts of one time are counted once each after a wrong guess`() throws {
        let (account, reference) = (try Account(at: now), try Account(at: now))
        let workout = try #require(records.first { $0.hasPrefix("<Workout") })
        let longer = workout.replacing(
            #"duration="7""#,
            with: #"duration="9" totalEnergyBurned="90" totalEnergyBurnedUnit="kcal""#)
        for account in [account, reference] {
            _ = try account.read(export(records + [longer]))
        }
        let changed = try export(
            records.map { $0.replacing(#"value="61""#, with: #"value="161""#) } + [longer])

        let result = try account.read(changed)
        try reference.forget()
        let whole = try reference.read(changed)

        #expect(result.enqueued == whole.enqueued && whole.enqueued.replaced > 0)
        #expect(try ledger(account) == ledger(reference))
        #expect(try account.store.outbox.prove().findings.isEmpty)
    }

    @Test func `a month in the future is not the last one`() throws {
        let account = try Account(at: now)
        let future = Self.record(
            "QuantityTypeIdentifierHeartRate", "count/min", "2099-10-03 10:00:00 +0000",
            "2099-10-03 10:00:00 +0000", "60")
        _ = try account.read(export(records + [future]))
        let marks = try account.store.archive.marks(of: "apple-health-export")
        func heartRates(_ months: some Sequence<TypeMonth>) -> [String] {
            months.filter { $0.type.hasSuffix("HeartRate") }.map(\.monthName).sorted()
        }

        let former = marks.formerMonths(at: now)

        #expect(heartRates(marks.prints.keys) == ["2024-01", "2024-02", "2099-10"])
        #expect(heartRates(former) == ["2024-01"])
    }

    @Test func `an export that breaks off is read again with everything that it has`() throws {
        let (account, reference) = (try Account(at: now), try Account(at: now))
        for account in [account, reference] { _ = try account.read(export(records)) }
        let text = "<HealthData>\(Self.exportDate())\n\(records.dropLast(3).joined())"
        let broken = AppleHealthExport(
            path: try folder.write("broken.xml", Array(text.utf8)), now: now)

        let result = try account.read(broken)
        try reference.forget()
        let whole = try reference.read(broken)

        #expect(result.report.brokeAt != nil && result.isReadAgain)
        #expect(result.report.archived == whole.report.archived)
        #expect(try account.contents() == reference.contents())
        #expect(try ledger(account) == ledger(reference))
    }

    /// Writes an export with a route beside it, and one record more for each of its points.
    private func export(route points: Int) throws -> AppleHealthExport {
        let path = "\(folder.path)/with-route"
        mkdir(path, 0o700)
        mkdir("\(path)/workout-routes", 0o700)
        let route = (0..<points).map {
            #"<trkpt lon="13.4\#($0)" lat="52.5"><time>2024-01-10T10:00:0\#($0)Z</time></trkpt>"#
        }
        _ = try folder.write(
            "with-route/workout-routes/a.gpx", Array("<gpx>\(route.joined())</gpx>".utf8))
        _ = try export(
            self.records + self.records.prefix(points), name: "with-route/export.xml")
        return AppleHealthExport(path: path, now: now)
    }

    @Test func `the points of a route are kept once, and a new one is found`() throws {
        let account = try Account(at: now)
        func points() throws -> [String] {
            try account.contents().filter { $0.hasPrefix("WorkoutRoutePoint ") }
        }

        _ = try account.read(export(route: 2))
        let first = try points()
        let again = try account.read(export(route: 2))
        _ = try account.read(export(route: 3))

        #expect(first.count == 2)
        #expect(first.first?.contains("/workout-routes/a.gpx") == true)
        #expect(first.first?.contains("13.40") == true)
        #expect(again.same != nil || again.unchangedSince != nil)
        #expect(try points().count == 3)
    }

    @Test func `files beside the text are kept once, in whatever export they come`() throws {
        let account = try Account(at: now)
        let path = "\(folder.path)/with-files"
        for name in ["", "/electrocardiograms", "/clinical-records"] {
            mkdir("\(path)\(name)", 0o700)
        }
        func write(ecgs: Int, ahead: Int) throws {
            for number in 1...ecgs {
                let curve =
                    "Recorded Date,2024-01-1\(number) 1\(ahead):00:00 +0\(ahead)00\n"
                    + "Classification,Sinus Rhythm\n1\n2\n"
                // Another export counts the files of a day in another way.
                _ = try folder.write(
                    "with-files/electrocardiograms/\(number)-\(ahead).csv", Array(curve.utf8))
            }
            let records =
                Self.records(ahead: ahead) + [
                    #"<ClinicalRecord type="Condition" identifier="c" sourceName="Clinic" "#
                        + #"receivedDate="2024-01-10 1\#(ahead):00:00 +0\#(ahead)00" "#
                        + #"resourceFilePath="/clinical-records/c.json"/>"#
                ]
            _ = try export(
                records, exportDate: Self.exportDate(ahead: ahead), name: "with-files/export.xml")
        }
        _ = try folder.write(
            "with-files/clinical-records/c.json", Array(#"{"resourceType":"Condition"}"#.utf8))
        func files() throws -> [String] {
            try account.contents().filter {
                $0.hasPrefix("ClinicalRecordFile ") || $0.contains("Electrocardiogram ")
            }
        }
        let source = AppleHealthExport(path: path, now: now)

        try write(ecgs: 2, ahead: 0)
        _ = try account.read(source)
        let first = try files()
        try account.forget()
        for ecg in ["1-0", "2-0"] { unlink("\(path)/electrocardiograms/\(ecg).csv") }
        try write(ecgs: 2, ahead: 1)
        _ = try account.read(source)
        let second = try files()
        try write(ecgs: 3, ahead: 1)
        try account.forget()
        _ = try SourceIntake(store: account.store, clock: account.bench.clock)
            .read(source, isAnew: true) { _ in }

        #expect(first.count == 3 && second == first)
        #expect(try files().count == 4)
    }

    /// What may differ in an export that comes again.
    enum Change: CaseIterable {
        case value, valueOfADay, removal, removalOfADay, copy, newMonth, metadata, stage, nested,
            nestedSource, summary, refused, exportDate
    }

    @Test(arguments: Change.allCases)
    func `what differs leaves the store that a whole reading leaves`(change: Change) throws {
        let (account, reference) = (try Account(at: now), try Account(at: now))
        for account in [account, reference] { _ = try account.read(export(self.records)) }
        let before = try account.contents()
        var (records, date) = (records, Self.exportDate())
        func edit(_ old: String, _ new: String, of element: String = "") throws {
            let index = try #require(
                records.firstIndex { $0.hasPrefix(element) && $0.contains(old) })
            records[index] = records[index].replacing(old, with: new)
        }
        switch change {
        case .value: try edit(#"value="61""#, #"value="161""#)
        case .valueOfADay: try edit(#"value="100""#, #"value="150""#)
        case .removal: records.removeFirst()
        case .removalOfADay: records.remove(at: 1)
        case .copy: records.append(records[0])
        case .newMonth:
            records += self.records.filter { $0.contains("2024-02-10") }
                .map { $0.replacing("2024-02-10", with: "2023-12-10") }
        case .metadata: try edit(#"key="Context" value="1""#, #"key="Context" value="2""#)
        case .stage: try edit("AsleepDeep", "AsleepCore")
        case .nested: try edit(#"value="120""#, #"value="125""#)
        case .nestedSource:
            try edit(
                #"sourceName="Watch" sourceVersion="9""#, #"sourceName="Cuff" sourceVersion="9""#,
                of: "<Correlation")
        case .summary: try edit(#"activeEnergyBurned="300""#, #"activeEnergyBurned="400""#)
        case .refused: records.removeLast()
        case .exportDate: date = date.replacing("2024-03-01", with: "2024-02-10")
        }
        let changed = try export(records.reversed(), exportDate: date)

        let result = try account.read(changed)
        try reference.forget()
        let whole = try reference.read(changed)

        #expect(result.unchangedSince == nil)
        #expect(result.enqueued == whole.enqueued)
        #expect(result.report.archived.new == whole.report.archived.new)
        let contents = try account.contents()
        #expect(try contents == reference.contents())
        // A record that is missing stays, and one without a date is nowhere; nor is the source of a
        // record inside a correlation.
        let leavesAll: [Change] = [.removal, .nestedSource, .refused, .exportDate]
        #expect((contents == before) == leavesAll.contains(change), "\(change)")
        #expect(try ledger(account) == ledger(reference))
        #expect(try account.store.outbox.prove().findings.isEmpty)
        #expect(try account.read(changed).unchangedSince == now)
    }

    @Test func `a month that is known is neither decoded into samples nor collected`() throws {
        let account = try Account(at: now)
        _ = try account.read(export(records))
        let marks = try account.store.archive.marks(of: "apple-health-export")
        var source = try export(records)
        let found = try #require(try source.lookThrough(marks.key, progress: nil))
        source.known = KnownMonths(key: marks.key, months: found.months(like: marks.prints))
        var natures: [SampleNature: Int] = [:]

        let report = try source.read { natures[$1, default: 0] += 1 }

        #expect(natures[.measurement] == 1 && natures[.knownMeasurement] == 12)
        #expect(found.digest != nil && report.records?.digest == found.digest)
        let collector = try #require(report.records)
        #expect(try collector.keys().allSatisfy { try collector.isEmpty($0.bucket) })
    }

    @Test func `what a person wants back after discarding it is read again`() throws {
        let account = try Account(at: now)
        _ = try account.read(export(records))
        _ = try account.store.outbox.discard(OutboxSelection())
        var discarded = OutboxSelection()
        discarded.reason = OutboxSelection.discarded
        _ = try account.store.outbox.retry(discarded)

        let again = try account.read(export(records.reversed()))

        #expect(again.enqueued.queued == 13)
    }

    @Test func `what was in the future is taken when its time has come`() throws {
        let account = try Account(at: now)
        let later = Self.record(
            "QuantityTypeIdentifierHeartRate", "count/min", "2096-10-03 10:00:00 +0000",
            "2096-10-03 10:00:00 +0000", "60")
        _ = try account.read(export(records + [later]))
        let early = try account.read(export([later] + records))
        account.bench.clock.set(now + .seconds(3 * 86_400))
        var due = try export([later] + records.reversed())
        due = AppleHealthExport(path: due.path, now: account.bench.clock.now)

        let result = try account.read(due)

        #expect(early.unchangedSince == now)
        #expect(result.enqueued.queued == 1)
    }

    @Test func `a file that changes after it was looked through is read again`() throws {
        let (account, reference) = (try Account(at: now), try Account(at: now))
        for account in [account, reference] { _ = try account.read(export(records)) }
        let copy = try export(records + [records[0]], name: "growing.xml")
        // The second month, which was known, has another value.
        let newer = records.map {
            $0.replacing(
                #"2024-02-10 12:00:00 +0000" value="62""#,
                with: "2024-02-10 12:00:00 +0000\" value=\"162\"")
        }
        var isChanged = false

        let result = try SourceIntake(store: account.store, clock: account.bench.clock).read(copy) {
            progress in
            guard progress.bytesRead > 0, !isChanged else { return }
            isChanged = true
            _ = try export(newer, name: "growing.xml")
        }
        let known = try account.contents()
        _ = try account.read(try export(newer, name: "growing.xml"))
        try reference.forget()
        _ = try reference.read(try export(newer, name: "growing.xml"))

        #expect(result.isReadAgain && result.report.archived.hasMissed)
        #expect(try account.contents() != known)
        #expect(try account.contents() == reference.contents())
        #expect(try account.store.outbox.prove().findings.isEmpty)
    }

    /// The sums of the ledger.
    private func ledger(_ account: Account) throws -> ReadingCounts {
        try account.store.access { connection in
            try account.store.outbox.ledgerRows(connection)
                .reduce(into: ReadingCounts()) { $0 += $1.counts }
        }
    }
}

extension ArchiveCollector {
    /// Whether no record of a type and month was collected.
    fileprivate func isEmpty(_ bucket: Int) throws -> Bool {
        try segment(bucket, Decompressor()).records.isEmpty
    }
}
