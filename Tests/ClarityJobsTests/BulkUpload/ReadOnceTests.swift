import HealthStore
import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import Import
@testable import ClarityJobs

/// Tests that a file which is not over yet counts as read, and its records once.
@Suite struct ReadOnceTests {
    private let folder: TemporaryFolder
    private let bench: WorkBench
    /// The clock of this machine; the export of the phone is of an hour later.
    private let now = Instant(secondsSince1970: 4_000_000_000)

    init() throws {
        folder = try TemporaryFolder()
        let desk = UploadDesk()
        bench = WorkBench { desk.take($0) }
        bench.clock.set(now)
        try bench.logIn()
    }

    private func text(_ instant: Instant) -> String {
        instant.description.replacing("T", with: " ").replacing("Z", with: " +0000")
    }

    private func record(_ type: String, _ unit: String, _ start: Instant, value: Int) -> String {
        #"<Record type="HKQuantityTypeIdentifier\#(type)" sourceName="W" unit="\#(unit)" "#
            + #"startDate="\#(text(start))" endDate="\#(text(start))" value="\#(value)"/>"#
    }

    /// Writes an export of two heart rates, a day that is not over, a type without a field, and a
    /// record that can be no sample; returns its options.
    private func export(date: Instant?, extra: String = "") throws -> [String: String] {
        let records = [
            record("HeartRate", "count/min", now - .seconds(7200), value: 60),
            record("HeartRate", "count/min", now - .seconds(3600), value: 61),
            record("StepCount", "count", now - .seconds(3600), value: 100),
            record("BodyMass", "kg", now - .seconds(3600), value: 70),
            record("HeartRate", "count/min", now - .seconds(1800), value: -1),
        ]
        let head = date.map { "<ExportDate value=\"\(text($0))\"/>" } ?? ""
        let path = try folder.write(
            "export.xml",
            Array("<HealthData>\(head)\(records.joined())\(extra)</HealthData>".utf8))
        return [
            "sources.0.kind": "apple-health-export", "sources.0.path": path,
            "sources.0.time_zone": "UTC",
        ]
    }

    private func read(_ options: [String: String]) async throws -> Int64? {
        try bench.logIn()
        let (outcome, reports) = await bench.attempt("bulk-upload", options)
        #expect(outcome == .success)
        return reports.tally["samples_read"]
    }

    private func sums() throws -> OutboxArithmetic { try bench.store().outbox.arithmetic() }

    private func state(_ options: [String: String]) throws -> SourceStatus? {
        try SourceStatus.all(
            bench.order("bulk-upload", options), store: try bench.store(), now: bench.clock.now,
            zones: SourceZones(environment: [:])
        ).first
    }

    @Test func `an export from ahead of the clock is read, and again when its date has come`()
        async throws
    {
        let options = try export(date: now + .seconds(3600))

        let first = try await read(options)
        let state = try state(options)
        bench.clock.set(now + .seconds(1800))
        let early = try await read(options)
        bench.clock.set(now + .seconds(3601))
        let due = try await read(options)
        let after = try await read(options)

        #expect(first == 5 && early == 0 && due == 5 && after == 0)
        #expect(state?.state == .unchanged && state?.counts["records"] == 5)
    }

    @Test func `an export without a date is read again when its day is over`() async throws {
        let options = try export(date: nil)

        let first = try await read(options)
        bench.clock.set(now + .seconds(1800))
        let early = try await read(options)
        bench.clock.set(now + .seconds(86_400))
        let due = try await read(options)
        let after = try await read(options)

        #expect(first == 5 && early == 0 && due == 5 && after == 0)
        let sums = try sums()
        #expect(sums.counts[.made] == 1 && sums.counts[.madeQueued] == 1)
    }

    @Test func `the sums count each record once, however often it was read`() async throws {
        _ = try await read(try export(date: now + .seconds(3600)))
        let once = try sums()
        bench.clock.set(now + .seconds(3601))
        _ = try await read(try export(date: now + .seconds(3600)))
        let twice = try sums()
        // The next export has one record more.
        let extra = record("HeartRate", "count/min", now - .seconds(60), value: 62)
        _ = try await read(try export(date: now + .seconds(3600), extra: extra))
        let more = try sums()

        #expect(once.counts[.read] == 5 && once.readings == 1)
        #expect(twice.counts == once.counts && twice.reasons == once.reasons)
        #expect(twice.readings == 2 && twice.isBalanced)
        #expect(more.counts[.read] == 6 && more.counts[.queued] == 3 && more.counts[.known] == 0)
        #expect(more.counts[.aggregated] == 1 && more.counts[.unmapped] == 1)
        #expect(more.counts[.refused] == 1 && more.readings == 3 && more.isBalanced)
        #expect(try bench.store().outbox.prove().findings == [])
    }

    @Test func `a file of points counts once while it is the same, and its successor besides`()
        async throws
    {
        func points(_ values: [Int]) throws -> [String: String] {
            let points = values.map {
                #"{"date":"2026-11-20 0\#($0):00:00 +0000","qty":\#($0),"source":"W"}"#
            }
            let path = try folder.write(
                "points.json",
                Array(
                    (#"{"data":{"metrics":[{"name":"step_count","units":"count","data":["#
                        + points.joined(separator: ",") + "]}]}}").utf8))
            return ["sources.0.kind": "health-auto-export", "sources.0.path": path]
        }
        let intake = SourceIntake(store: try bench.store(), clock: bench.clock)
        func readAnew(_ options: [String: String]) throws {
            let source = HealthAutoExport(
                path: try #require(options["sources.0.path"]), now: now, rules: AggregationRules())
            _ = try intake.read(source, isAnew: true) { _ in }
        }

        let first = try points([1, 2])
        try readAnew(first)
        try readAnew(first)
        let same = try sums()
        try readAnew(try points([3, 4, 5]))
        let both = try sums()

        #expect(same.counts[.read] == 2 && same.counts[.aggregated] == 2 && same.readings == 2)
        #expect(both.counts[.read] == 5 && both.counts[.aggregated] == 5 && both.isBalanced)
    }

    // MARK: Elements that nobody knows

    @Test func `elements that nobody knows are counted by name and kept`() async throws {
        let (start, day) = (text(now - .seconds(7200)), "2026-10-05")
        let extra = """
            <StateOfMind sourceName="W" startDate="\(start)" endDate="\(start)" valence="0.5">
            <Label value="calm"/></StateOfMind>
            <StateOfMind sourceName="W" startDate="\(start)" endDate="\(start)" valence="0.1"/>
            <MedicationDoseEvent date="\(start)" type="x"/><Daily2030 date="\(day)"/><Undated/>
            """
        let options = try export(date: now - .seconds(1), extra: extra)

        let (outcome, reports) = await bench.attempt("bulk-upload", options)

        #expect(outcome == .success)
        #expect(reports.tally["samples_read"] == 10 && reports.tally["samples_kept_here"] == 6)
        #expect(reports.tally["samples_refused"] == 1)
        #expect(
            reports.notes.contains {
                $0.contains("no field for StateOfMind (2), Daily2030 (1)")
                    && $0.contains("MedicationDoseEvent (1)")
            }, "\(reports.notes)")
        let types = try bench.store().archive.types().map(\.name)
        #expect(
            Set(types).isSuperset(of: [
                "StateOfMind", "MedicationDoseEvent", "Daily2030", "Undated",
            ]))
    }

    @Test func `names of elements are bounded, and only plain ones are shown`() throws {
        let many = (0..<200).map { "<New\($0) date=\"2020-01-01 00:00:00 +0000\"/>" }
        let odd = [
            "<a-b/>", "<a:b/>", "<é/>", "<\(String(repeating: "x", count: 81))/>",
            "<e.f date='1'/>",
        ]
        let path = try folder.write(
            "export.xml", Array("<HealthData>\((odd + many).joined())</HealthData>".utf8))

        let report = try AppleHealthExport(path: path, now: now).read { _, _ in }

        #expect(report.elements.count == 66 && report.elements["(other elements)"] == 141)
        #expect(report.unmapped.count == 65 && report.unmapped["(other types)"] == 136)
        #expect(report.elementsRefused == ["(other elements)": 5])
        #expect(report.recordsRead == 205 && report.unexplained == 0)
    }

    @Test func `an unknown element inside another one is a part of it`() throws {
        let date = "startDate='2020-01-01 00:00:00 +0000' endDate='2020-01-01 00:10:00 +0000'"
        let body = """
            <Workout workoutActivityType='HKWorkoutActivityTypeRunning' \(date)><Effort v='7'/></Workout>
            <Record type='HKQuantityTypeIdentifierBodyMass' unit='kg' value='1' \(date)><Odd a='1'/></Record>
            <Wrapper date='2020-01-01 00:00:00 +0000'><Record type='T' value='1' \(date)/></Wrapper>
            """
        let path = try folder.write(
            "export.xml", Array("<HealthData>\(body)</HealthData>".utf8))

        let report = try AppleHealthExport(path: path, now: now).read { _, _ in }

        #expect(report.elements["Effort"] == 1 && report.elements["Odd"] == 1)
        #expect(
            report.unmapped == ["Wrapper": 1, "T": 1, "HKQuantityTypeIdentifierBodyMass": 1])
        #expect(report.recordsRead == 4 && report.refused == [:] && report.unexplained == 0)
    }
}
