import HealthStore
import ClarityScheduler
import Platform
import ClarityTestSupport
import Glibc
import Synchronization
import Testing

@testable import Import
@testable import ClarityJobs

@Suite struct SourceImportTests {
    private let desk = UploadDesk()

    private func bench() throws -> WorkBench {
        let desk = desk
        let bench = WorkBench { request in desk.take(request) }
        try bench.logIn()
        return bench
    }

    @Test func `what is read is sent, and every record is accounted for`() async throws {
        let bench = try bench()
        bench.writeExport(
            0..<250,
            extra: """
                <Record type="HKQuantityTypeIdentifierBodyMass" sourceName="Invented" unit="kg" \
                startDate="2024-01-01 00:00:00 +0000" endDate="2024-01-01 00:00:00 +0000" \
                value="70"/>
                <Record type="HKQuantityTypeIdentifierHeartRate" sourceName="Invented" \
                unit="count/min" startDate="nonsense" endDate="2024-01-01 00:00:00 +0000" \
                value="61"/>
                <Record type="HKQuantityTypeIdentifierHeartRate" sourceName="Other" \
                unit="count/min" startDate="2024-01-01 00:00:00 +0000" \
                endDate="2024-01-01 00:00:00 +0000" value="50"/>\n
                """)
        try bench.logIn()

        let (outcome, reports) = await bench.attempt("bulk-upload", bench.source)

        let tally = reports.tally
        #expect(outcome == .success)
        #expect(tally["samples_read"] == 253)
        #expect(tally["samples_queued"] == 250)
        #expect(tally["samples_duplicate"] == 1)
        #expect(tally["samples_kept_here"] == 1)
        #expect(tally["samples_refused"] == 1)
        #expect(tally["samples_sent"] == 250)
        #expect(tally["samples_accepted"] == 250)
        #expect(bench.backend.requests.map(\.metricIDs.count) == [100, 100, 50])
        #expect(Set(desk.metricIDs).count == 250)
        #expect(try bench.states() == [.accepted: 250])
        #expect(
            reports.notes.contains {
                $0.contains("no field for HKQuantityTypeIdentifierBodyMass (1)")
            })
    }

    @Test func `an unchanged file is not read again, a changed one is`() async throws {
        let bench = try bench()
        bench.writeExport(0..<10)
        try bench.logIn()
        _ = await bench.attempt("bulk-upload", bench.source)

        let second = await bench.attempt("bulk-upload", bench.source)
        bench.writeExport(0..<12)
        let third = await bench.attempt("bulk-upload", bench.source)

        #expect(second.reports.tally["samples_read"] == 0)
        #expect(second.reports.notes.contains { $0.contains("is as it was when it was read") })
        #expect(third.reports.tally["samples_duplicate"] == 10)
        #expect(third.reports.tally["samples_sent"] == 2)
    }

    @Test func `a file that an earlier version of this program has read is read again`()
        async throws
    {
        let bench = try bench()
        bench.writeExport(0..<3)
        try bench.logIn()
        let path = bench.exportPath
        // The seventh reader left the files beside the text of an export.
        for (reader, version, read) in [
            ("8 \(kindsDigest)", programVersion, Int64(0)), ("7 \(kindsDigest)", programVersion, 3),
            ("8 1f", programVersion, 3), ("8 \(kindsDigest)", "0.0.9", 3),
        ] {
            let stamp = SourceStamp(
                path: path,
                reader:
                    "apple-health-export \(reader) \(version) \(SourceZones(environment: [:]).local)",
                at: bench.clock.now)
            try bench.store().outbox.noteRead(
                path, #require(stamp),
                LastReading(
                    readAt: bench.clock.now, reader: "", bytes: 0, mark: nil, counts: [:]))

            let (_, reports) = await bench.attempt("bulk-upload", bench.source)

            #expect(reports.tally["samples_read"] == read, "\(reader) \(version)")
        }
    }

    @Test func `a type that is no name is not repeated in a note`() async throws {
        let bench = try bench()
        bench.writeExport(
            0..<1,
            extra: """
                <Record type="Ada 120/80" sourceName="Invented" unit="kg" value="70" \
                startDate="2024-01-01 00:00:00 +0000" endDate="2024-01-01 00:00:00 +0000"/>\n
                """)
        try bench.logIn()

        let (_, reports) = await bench.attempt("bulk-upload", bench.source)

        #expect(reports.notes == ["`export.xml`: no field for (other types) (1)"])
    }

    @Test func `what the archive cannot keep is counted in a note`() async throws {
        let bench = try bench()
        bench.writeExport(0..<1, extra: #"<Audiogram type="a" sourceName="Invented"/>"#)
        try bench.logIn()

        let (_, reports) = await bench.attempt("bulk-upload", bench.source)

        #expect(reports.notes == ["`export.xml`: not kept Audiogram (1)"])
    }

    @Test func `what is not over yet is said`() async throws {
        let bench = try bench()
        // The day to which `writeExport` sets the clock.
        bench.writeExport(
            0..<1,
            extra: """
                <Record type="HKQuantityTypeIdentifierStepCount" sourceName="Invented" \
                unit="count" value="70" startDate="2096-10-02 07:00:00 +0000" \
                endDate="2096-10-02 07:00:00 +0000"/>\n
                """)
        try bench.logIn()

        let (_, reports) = await bench.attempt("bulk-upload", bench.source)

        #expect(reports.notes == ["`export.xml`: not over yet activity (1)"])
    }

    @Test func `every type without a field is named, however many there are`() async throws {
        let bench = try bench()
        let types = (1...20).map { "HKQuantityTypeIdentifierInvented\($0)" }
        bench.writeExport(
            0..<1,
            extra: types.map { type in
                """
                <Record type="\(type)" sourceName="Invented" unit="kg" value="70" \
                startDate="2024-01-01 00:00:00 +0000" endDate="2024-01-01 00:00:00 +0000"/>\n
                """
            }.joined())
        try bench.logIn()

        let (_, reports) = await bench.attempt("bulk-upload", bench.source)

        #expect(reports.notes.count == 3)
        let named = reports.notes.joined(separator: ", ")
        #expect(types.filter { !named.contains("\($0) (1)") } == [])
    }

    @Test func `a warning stops the reading of records that are no samples`() async throws {
        let bench = try bench()
        let line = """
            <Record type="HKQuantityTypeIdentifierBodyMass" sourceName="Invented" unit="kg" \
            startDate="2024-01-01 00:00:00 +0000" endDate="2024-01-01 00:00:00 +0000" value="70"/>\n
            """
        bench.writeExport(0..<0, extra: String(repeating: line, count: 4000))
        try bench.logIn()

        let (outcome, reports) = await bench.attempt(
            "bulk-upload", bench.source, isEnding: { true })

        #expect(
            outcome
                == .retry(
                    after: nil, Failure(.work, "its time ended before everything was done")))
        #expect(reports.tally.names == [])
    }

    @Test func `a record from the future is counted once, and taken in its time`() async throws {
        let bench = try bench()
        bench.writeExport(
            0..<2,
            extra: """
                <Record type="HKQuantityTypeIdentifierHeartRate" sourceName="Invented" \
                unit="count/min" startDate="2099-01-01 00:00:00 +0000" \
                endDate="2099-01-01 00:00:00 +0000" value="61"/>\n
                """)
        try bench.logIn()

        let early = await bench.attempt("bulk-upload", bench.source)
        let again = await bench.attempt("bulk-upload", bench.source)
        bench.clock.set(Instant(secondsSince1970: 4_080_000_000))
        try bench.logIn()
        let late = await bench.attempt("bulk-upload", bench.source)

        #expect(early.reports.tally["samples_refused"] == 1)
        #expect(early.reports.tally["samples_sent"] == 2)
        #expect(again.reports.tally["samples_read"] == 0)
        #expect(late.reports.tally["samples_duplicate"] == 2)
        #expect(late.reports.tally["samples_sent"] == 1)
    }

    @Test func `a source that breaks off is sent as far as it goes, then fails`() async throws {
        let bench = try bench()
        bench.writeExport(0..<10, isCut: true)
        try bench.logIn()

        let (outcome, reports) = await bench.attempt("bulk-upload", bench.source)
        let again = await bench.attempt("bulk-upload", bench.source)

        guard case .failure(let failure) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(failure.category == .work)
        #expect(failure.reason.hasPrefix("`export.xml` breaks off at byte "))
        #expect(reports.tally["samples_accepted"] == 10)
        #expect(again.outcome == outcome)
        #expect(again.reports.tally["samples_duplicate"] == 10)
    }

    @Test(arguments: [(true, Failure.Category.disk), (false, .work)])
    func `what the disk does not give is no fault of the file`(
        isOfDisk: Bool, category: Failure.Category
    ) throws {
        var source = ScriptedSource(path: "/none")
        source.report.brokeAt = SourceBreak(
            byteOffset: 7, reason: "input/output error", isOfDisk: isOfDisk)
        let bench = try bench()
        var reading = SourceImport(try bench.context { _ in })

        let failure = try reading.run([source])

        #expect(failure?.category == category)
    }

    @Test func `a missing source does not hold back what waits`() async throws {
        let bench = try bench()
        try bench.enqueue(0..<3)

        let (outcome, reports) = await bench.attempt("bulk-upload", bench.source)

        #expect(
            outcome
                == .awaits(
                    .source,
                    Failure(
                        .configuration,
                        "waits for a source: no file or folder `\(bench.exportPath)`")))
        #expect(reports.tally["samples_accepted"] == 3)
    }

    @Test func `a fault of a source is said once, as the failure or else as a note`() async throws {
        let bench = try bench()

        let (outcome, reports) = await bench.attempt("bulk-upload", bench.source)
        let unsent = WorkBench()
        try unsent.enqueue(0..<1)
        let early = await unsent.attempt("bulk-upload", unsent.source)

        let reason = "no file or folder `\(bench.exportPath)`"
        #expect(
            outcome == .awaits(.source, Failure(.configuration, "waits for a source: \(reason)")))
        #expect(reports.notes == [])
        #expect(early.outcome == awaitingLogin)
        #expect(early.reports.notes == ["no file or folder `\(unsent.exportPath)`"])
    }

    private let awaitingLogin = Outcome.awaits(
        .login, Failure(.credential, "waits for a login; run `clarity-jobs auth login`"))

    @Test func `without a login the samples are queued and the run waits`() async throws {
        let bench = WorkBench()
        bench.writeExport(0..<5)

        let (outcome, _) = await bench.attempt("bulk-upload", bench.source)

        #expect(outcome == awaitingLogin)
        #expect(try bench.states() == [.queued: 5])
        #expect(bench.backend.calls == [])
    }

    @Test func `a spool file is settled before the next one is read, and not by a dry run`()
        async throws
    {
        let spool = try TemporaryFolder()
        let path = spool.path
        let lines = [61, 62].map {
            "{\"kind\":\"heart_rate\",\"start\":\"2025-01-02T03:04:\($0 - 11)Z\",\"value\":\($0)}\n"
        }
        try spool.write("a.ndjson", Array(lines[0].utf8))
        try spool.write("b.ndjson", Array("x\n\(lines[1])".utf8))
        let bench = try bench()
        for (isDryRun, waiting) in [(true, ["a.ndjson", "b.ndjson"]), (false, [])] {
            let seen = Mutex<[String]>([])
            let reports = Mutex(Reports())
            let context = try bench.context(isDryRun: isDryRun) { report in
                reports.withLock { $0.take(report) }
            }
            let files = ["a.ndjson", "b.ndjson"].map {
                SpoolSource(
                    folder: SourcePlace(path), folderName: "spool", fileName: $0,
                    now: bench.clock.now,
                    since: nil)
            }
            let last = ScriptedSource(path: "/none") { _ in
                let names = try SpoolFolder(SourcePlace(path)).waiting()
                seen.withLock { $0 = names }
            }

            var reading = SourceImport(context)
            let failure = try reading.run(files + [last])

            #expect(failure == nil)
            #expect(seen.withLock { $0 } == waiting)
            let tally = reports.withLock { $0.tally }
            #expect(tally["files_done"] == (isDryRun ? 0 : 1))
            #expect(tally["files_rejected"] == (isDryRun ? 0 : 1))
        }
    }

    @Test func `the notes of a folder's files are added up`() async throws {
        let auto = try TemporaryFolder()
        for number in 1...30 {
            try auto.write(
                "\(number + 100).json",
                Array(
                    #"{"data":{"metrics":[{"name":"weight","units":"kg","data":[{"date":1707258600,"qty":1}]}]}}"#
                        .utf8))
        }
        let bench = try bench()

        let (_, reports) = await bench.attempt(
            "bulk-upload",
            ["sources.0.kind": "health-auto-export", "sources.0.path": auto.path])

        let name = SourceEntry.name(of: auto.path)
        #expect(reports.notes == ["`\(name)`: no field for weight (30)"])
    }

    @Test func `a source is the same with a slash at its end`() async throws {
        let auto = try TemporaryFolder()
        let path = try auto.write(
            "a.json",
            Array(#"{"data":{"metrics":[{"name":"w","data":[{"date":1707258600,"qty":1}]}]}}"#.utf8)
        )
        var times = [timespec(tv_sec: 1_000, tv_nsec: 0), timespec(tv_sec: 1_000, tv_nsec: 0)]
        utimensat(AT_FDCWD, path, &times, 0)
        let bench = try bench()
        bench.clock.set(Instant(secondsSince1970: 4_080_000_000))
        try bench.logIn()

        let first = await bench.attempt(
            "bulk-upload",
            ["sources.0.kind": "health-auto-export", "sources.0.path": auto.path])
        let again = await bench.attempt(
            "bulk-upload",
            ["sources.0.kind": "health-auto-export", "sources.0.path": "\(auto.path)/./"])

        #expect(first.reports.tally["samples_read"] == 1)
        #expect(again.reports.tally["samples_read"] == 0)
        #expect(
            again.reports.notes.allSatisfy { $0.hasPrefix("`\(SourceEntry.name(of: auto.path))`") })
    }

    // MARK: Files that are deleted after reading

    /// Writes a point of the heart rate, and returns the options with its folder as a source.
    private func received(
        _ folder: TemporaryFolder, _ bench: WorkBench,
        at date: String = "2024-02-06 14:30:00 +0000",
        isDeleted: Bool = true
    ) throws -> [String: String] {
        try folder.write(
            "a.json",
            Array(
                """
                {"data":{"metrics":[{"name":"heart_rate","units":"bpm","data":[
                    {"date":"2024-02-06 14:29:00 +0000","Min":61,"Avg":61,"Max":61},
                    {"date":"\(date)","Min":61,"Avg":61,"Max":61}]}]}}
                """.utf8))
        bench.clock.set(Instant(secondsSince1970: 4_080_000_000))
        try bench.logIn()
        return [
            "sources.0.kind": "health-auto-export", "sources.0.path": folder.path,
            "sources.0.delete_after_reading": isDeleted ? "true" : "false",
        ]
    }

    @Test func `a file is deleted once all of it is in the outbox, if the job file says so`()
        async throws
    {
        let folder = try TemporaryFolder()
        let bench = try bench()
        let keeping = try received(folder, bench, isDeleted: false)
        let path = "\(folder.path)/a.json"

        let kept = await bench.attempt("bulk-upload", keeping)
        let isKept = access(path, F_OK) == 0
        let deleted = await bench.attempt("bulk-upload", try received(folder, bench))
        let isGone = access(path, F_OK) != 0
        let anew = await bench.attempt("bulk-upload", try received(folder, bench))

        #expect(isKept && kept.reports.tally["files_deleted"] == 0)
        #expect(kept.reports.tally["samples_queued"] == 2)
        #expect(isGone && deleted.reports.tally["files_deleted"] == 1)
        #expect(try folder.contents().isEmpty && anew.reports.tally["files_deleted"] == 1)
        #expect(anew.reports.tally["samples_duplicate"] == 2)
        #expect(try bench.store().outbox.lastReading(of: path) == nil)
        #expect(try bench.states() == [.accepted: 2])
    }

    @Test func `a file that was read before and not deleted is deleted without reading it`()
        async throws
    {
        let folder = try TemporaryFolder()
        let bench = try bench()
        var options = try received(folder, bench, isDeleted: false)
        _ = await bench.attempt("bulk-upload", options)
        options["sources.0.delete_after_reading"] = "true"

        let (_, reports) = await bench.attempt("bulk-upload", options)

        #expect(reports.tally["samples_read"] == 0 && reports.tally["files_deleted"] == 1)
        #expect(try folder.contents().isEmpty)
    }

    @Test func `a file with something that is not over stays until it is`() async throws {
        let folder = try TemporaryFolder()
        let bench = try bench()
        let options = try received(folder, bench, at: "2099-05-01 12:00:00 +0000")

        let early = await bench.attempt("bulk-upload", options)
        let isKept = access("\(folder.path)/a.json", F_OK) == 0
        bench.clock.set(Instant(secondsSince1970: 4_090_000_000))
        try bench.logIn()
        let late = await bench.attempt("bulk-upload", options)

        #expect(isKept && early.reports.tally["files_deleted"] == 0)
        #expect(try folder.contents().isEmpty && late.reports.tally["files_deleted"] == 1)
        #expect(try bench.states() == [.accepted: 2])
    }

    @Test func `a dry run deletes no file`() async throws {
        let folder = try TemporaryFolder()
        let bench = try bench()
        let options = try received(folder, bench)
        let context = try bench.context(isDryRun: true) { _ in }
        let sources = try SourceSettings(
            bench.order("bulk-upload", options), zones: SourceZones(environment: [:])
        ).sources(now: bench.clock.now)

        var reading = SourceImport(context)
        let failure = try reading.run(sources)

        #expect(failure == nil && sources.count == 1)
        #expect(try folder.contents().count == 1)
    }

    @Test func `a file that breaks off stays`() async throws {
        let folder = try TemporaryFolder()
        let bench = try bench()
        let options = try received(folder, bench)
        try folder.write("a.json", Array(#"{"data":{"metrics":[{"name":"heart_rate","#.utf8))

        let (_, reports) = await bench.attempt("bulk-upload", options)

        #expect(try folder.contents().count == 1 && reports.tally["files_deleted"] == 0)
    }
}
