import ClarityTestSupport
import Foundation
@testable import ProgramTestSupport
import Database
import Testing

@Suite("Records given back", .timeLimit(.minutes(5)))
struct ExportDataProgramTests {
    /// Returns a playground without a backend that has read the shipped export.
    private func playground() async throws -> Playground {
        let playground = try await Playground(sandboxOptions: nil)
        try playground.useExample("export.zip")
        let path = "\(playground.folder.path)/export.xml"
        let result = try await playground.run("import", path, "-q", environment: ["TZ": "UTC"])
        #expect(result.status == 0, "\(result.errors)")
        return playground
    }

    /// Compares the files with what Python's XML parser finds in the export, record by record.
    private static let comparison = """
        import csv, datetime, glob, json, re, sys, zipfile
        import xml.etree.ElementTree as tree
        export, folder = sys.argv[1:]
        archive = zipfile.ZipFile(export)
        name = next(n for n in archive.namelist()
            if n.endswith('.xml') and not n.endswith('_cda.xml'))
        def time(text):
            return text and text[:10] + 'T' + text[11:19] + text[20:23] + ':' + text[23:]
        def device(text):
            if not text.startswith('<<HKDevice: 0x'): return text
            return '<<HKDevice: ' + text[text.index('>'):]
        wanted = []
        root = tree.parse(archive.open(name)).getroot()
        for record in root.findall('Record'):
            get = lambda name: record.get(name, '')
            metadata = {m.get('key'): m.get('value') for m in record.findall('MetadataEntry')}
            wanted.append([get('type'), get('sourceName'), get('sourceVersion'),
                device(get('device')), get('unit'), time(get('creationDate')),
                time(get('startDate')), time(get('endDate')), get('value'),
                json.dumps(metadata, sort_keys=True) if metadata else ''])
            beats = record.findall('HeartRateVariabilityMetadataList/InstantaneousBeatsPerMinute')
            if beats:
                row = list(wanted[-1])
                row[0], row[4], row[8] = 'HKDataTypeIdentifierHeartbeatSeries', '', ''
                start = datetime.datetime.strptime(get('startDate'), '%Y-%m-%d %H:%M:%S %z')
                def seconds(text):
                    part = [int(n) for n in re.findall('[0-9]+', text)]
                    passed = part[1] * 60 + part[2] + part[3] / 100 - start.timestamp()
                    return round((passed + 450) % 900 - 450, 2)
                pairs = [[seconds(b.get('time')), float(b.get('bpm'))] for b in beats]
                row[9] = json.dumps({'beats': pairs})
                wanted.append(row)
        def utc(name, text):
            if name != 'date' and not name.endswith('Date'): return text
            zoned = datetime.datetime.strptime(text, '%Y-%m-%d %H:%M:%S %z')
            return zoned.astimezone(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%SZ')
        def inside(element):
            part = {}
            for child in element:
                if child.tag == 'MetadataEntry':
                    part.setdefault('MetadataEntry', {})[child.get('key')] = child.get('value')
                else:
                    names = ['type', 'unit', 'value', 'startDate', 'endDate']
                    object = {n: device(utc(n, v)) for n, v in child.items()
                        if child.tag != 'Record' or n in names}
                    if child.tag != 'Record': object.update(inside(child))
                    part.setdefault(child.tag, []).append(object)
            return part
        exported = time(root.find('ExportDate').get('value'))
        facts = dict(root.find('Me').items(), locale=root.get('locale'))
        wanted.append(['Me', '', '', '', '', '', exported, exported, '',
            json.dumps(facts, sort_keys=True)])
        document = next(n for n in archive.namelist() if n.endswith('_cda.xml'))
        wanted.append(['ClinicalDocument', '/export_cda.xml', '', '', '', '', exported, exported,
            '', json.dumps({'content': archive.read(document).decode()})])
        for element in root:
            get = lambda name: element.get(name, '')
            if element.tag in ('Record', 'ExportDate', 'Me'): continue
            taken = {'sourceName', 'sourceVersion', 'device', 'creationDate', 'startDate', 'endDate'}
            type, what = element.tag, ''
            if type in ('Workout', 'ClinicalRecord', 'VisionPrescription'):
                key = 'workoutActivityType' if type == 'Workout' else 'type'
                what = get(key)
                taken.add(key)
            elif element.get('type'):
                type = get('type')
                taken.add('type')
            start, end = time(get('startDate')), time(get('endDate'))
            if not start:
                day = get('dateComponents') or get('dateIssued')
                start = end = day + 'T00:00:00+00:00' if day else time(get('receivedDate'))
            metadata = {n: utc(n, v) for n, v in element.items() if n not in taken}
            part = inside(element)
            metadata.update(part.pop('MetadataEntry', {}))
            metadata.update(part)
            wanted.append([type, get('sourceName'), get('sourceVersion'), device(get('device')), '',
                time(get('creationDate')), start, end, what, json.dumps(metadata, sort_keys=True)])
        def plain(text):
            metadata = json.loads(text)
            for name, value in metadata.items():
                if name in ('beats', 'Record') or name[:1] in 'WLRSAV' and value[:2] == '[{':
                    metadata[name] = json.loads(value, parse_int=float)
            return json.dumps(metadata, sort_keys=True)
        found = []
        for path in glob.glob(folder + '/*.csv'):
            with open(path, newline='', encoding='utf-8') as file:
                rows = list(csv.reader(file))
            assert rows[0] == ['type', 'source', 'source_version', 'device', 'unit', 'created',
                'start', 'end', 'value', 'metadata'], rows[0]
            for row in rows[1:]:
                if row[9]: row[9] = plain(row[9])
                found.append(row)
        wanted.sort(), found.sort()
        print(len(wanted), len(found), wanted == found)
        for pair in zip(wanted, found):
            if pair[0] != pair[1]: print(*pair, sep='\\n', file=sys.stderr)
        """

    @Test func `every record of an export comes back as it was`() async throws {
        let playground = try await playground()
        let folder = "\(playground.folder.path)/records"

        let result = try await playground.run("export-data", "--out", folder)

        #expect(result.status == 0, "\(result.errors)")
        let python = try ChildProgram(
            "/usr/bin/python3",
            ["-c", Self.comparison, "\(Playground.examples)/export.zip", folder],
            environment: ["PATH": "/usr/bin:/bin"])
        let compared = await python.finish()
        #expect(compared.output == "2231 2231 True\n", "\(compared.errors)")
        #expect(result.output.hasSuffix("2231 records of 25 types in \(folder)\n"))
        #expect(result.errors.contains("is not encrypted"))
    }

    @Test func `a database has every record, and days of each type with numbers`() async throws {
        let playground = try await playground()
        let path = "\(playground.folder.path)/records.db"

        let result = try await playground.run("export-data", "--out", path, "--format", "sqlite")
        let again = try await playground.run("export-data", "--out", path, "--format", "sqlite")

        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.hasSuffix("2231 records of 25 types in \(path)\n"))
        #expect(again.isRefusal(78, "clarity-jobs: `\(path)` is there already; name another file"))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let database = try FileConnection(path: path, access: .immutable)
        func number(_ sql: String) throws -> Int64? { try database.first(sql) { $0.integer(0) } }
        #expect(try number(#"SELECT count(*) FROM "all records""#) == 2231)
        #expect(try number("SELECT count(*) FROM HeartRate WHERE value > 0") == 507)
        #expect(try number("SELECT count(*) FROM HeartRate WHERE julianday(start) IS NULL") == 0)
        #expect(
            try number(#"SELECT sum(records) FROM "HeartRate by day""#)
                == number("SELECT count(*) FROM HeartRate"))
        #expect(
            try number("SELECT count(*) FROM SleepAnalysis WHERE typeof(value) = 'text'") ?? 0 > 0)
        #expect(try number("SELECT count(*) FROM HeartRate WHERE json_valid(metadata) = 0") == 0)
    }

    @Test func `a database has numbers as they are, and workouts, summaries and beats in columns`()
        async throws
    {
        let playground = try await playground()
        let dates = "startDate='2026-01-02 08:00:00 +0100' endDate='2026-01-02 09:00:00 +0100'"
        try playground.folder.write(
            "more.xml",
            Array(
                """
                <HealthData><ExportDate value='2026-11-01 08:00:00 +0100'/>
                <Workout workoutActivityType='HKWorkoutActivityTypeHiking' sourceName='s' \(dates)
                  duration='55.5' durationUnit='min'>
                  <WorkoutEvent type='HKWorkoutEventTypePause' date='2026-01-02 08:30:00 +0100'
                    duration='4.5' durationUnit='min'/>
                  <WorkoutStatistics type='HKQuantityTypeIdentifierHeartRate' \(dates)
                    minimum='90' average='120' maximum='150' unit='count/min'/>
                  <WorkoutRoute sourceName='s' \(dates)>
                    <FileReference path='/workout-routes/a.gpx'/></WorkoutRoute>
                </Workout>
                <Record type='HKQuantityTypeIdentifierBodyMass' sourceName='s' unit='kg'
                  value='125.460839' \(dates)/></HealthData>
                """.utf8))
        let more = try await playground.run("import", "\(playground.folder.path)/more.xml", "-q")
        let path = "\(playground.folder.path)/records.db"
        let result = try await playground.run("export-data", "--out", path, "--format", "sqlite")

        #expect(more.status == 0 && result.status == 0, "\(more.errors)\(result.errors)")
        let database = try FileConnection(path: path, access: .immutable)
        func rows(_ sql: String, _ columns: Int32) throws -> [String] {
            try database.all(sql) { row in
                (0..<columns).map { row.optionalText($0) ?? "-" }.joined(separator: "|")
            }
        }
        // SQLite 3.40 reads this text as a number that is off by a digit, as Swift does a literal.
        let mass = try database.all("SELECT value FROM BodyMass WHERE source = 's'") { $0.real(0) }
        #expect(mass == [Double("125.460839")])
        let hike = "w JOIN workouts ON id = workout_id WHERE activity = 'Hiking'"
        #expect(
            try rows("SELECT activity, duration, duration_unit, distance FROM workouts", 4)
                .contains("Hiking|55.5|min|-"))
        #expect(
            try rows("SELECT event, at, w.duration FROM workout_events \(hike)", 3)
                == ["Pause|2026-01-02T07:30:00Z|4.5"])
        #expect(
            try rows("SELECT type, least, mean, most, sum, unit FROM workout_statistics \(hike)", 6)
                == ["HeartRate|90.0|120.0|150.0|-|count/min"])
        #expect(try rows("SELECT path FROM workout_routes \(hike)", 1) == ["/workout-routes/a.gpx"])
        #expect(
            try rows(
                "SELECT count(*) FROM activity_summaries WHERE stand_hours > 0 AND day > '2026'", 1)
                == ["42"])
        #expect(
            try rows(
                "SELECT count(DISTINCT series_id) FROM heartbeats WHERE bpm > 0 AND seconds < 90", 1
            ) == ["21"])
    }

    @Test func `only the owner can read the files, and the audit log has it`() async throws {
        let playground = try await playground()
        let folder = "\(playground.folder.path)/records"

        _ = try await playground.run("export-data", "--out", folder, "--types", "HeartRate,VO2Max")
        let log = try await playground.run("audit", "log")

        let manager = FileManager.default
        let names = try manager.contentsOfDirectory(atPath: folder).sorted()
        #expect(
            names == [
                "HKQuantityTypeIdentifierHeartRate.csv", "HKQuantityTypeIdentifierVO2Max.csv",
            ])
        for path in [folder] + names.map({ "\(folder)/\($0)" }) {
            let mode = try manager.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == (path == folder ? 0o700 : 0o600), "\(path)")
        }
        #expect(log.output.contains("exported  months of records 4  (as csv, by export-data)"))
    }

    @Test func `a type means the same type of every source`() async throws {
        let playground = try await playground()
        try playground.folder.write(
            "one.json",
            Array(#"{"kind":"heart_rate","start":"2026-01-02T03:04:05Z","value":61}"#.utf8))
        _ = try await playground.run("import", "\(playground.folder.path)/one.json", "-q")

        let found = try await playground.json(
            "export-data", "--out", "\(playground.folder.path)/a", "--types", "HeartRate")

        #expect(found["records"].number == 508)
        #expect(
            found["parts"].elements.compactMap { $0["name"].text } == [
                "HKQuantityTypeIdentifierHeartRate.csv", "heart_rate.csv",
            ])
    }

    @Test func `a range of time is from its first instant to before its last`() async throws {
        let playground = try await playground()
        let all = try await playground.json("export-data", "--out", "\(playground.folder.path)/a")
        let cut = "2026-11-01T00:00:00Z"

        let before = try await playground.json(
            "export-data", "--out", "\(playground.folder.path)/b", "--until", cut)
        let after = try await playground.json(
            "export-data", "--out", "\(playground.folder.path)/c", "--since", cut)

        let counts = try [all, before, after].map { try #require($0["records"].number) }
        #expect(counts[0] == 2231 && counts[1] > 0 && counts[2] > 0)
        #expect(counts[1] + counts[2] == counts[0])
    }

    @Test func `nothing is overwritten, and a type that is not there is named`() async throws {
        let playground = try await playground()
        try playground.folder.write("mine", [1])

        let full = try await playground.run("export-data", "--out", playground.folder.path)
        let unknown = try await playground.run(
            "export-data", "--out", "\(playground.folder.path)/new", "--types", "HeartRat")
        let nowhere = try await playground.run("export-data")

        #expect(
            full.isRefusal(
                78, "clarity-jobs: `\(playground.folder.path)` is not empty; name another folder"))
        #expect(
            unknown.isRefusal(
                64,
                "clarity-jobs: the archive has no records of the type `HeartRat`; did you mean "
                    + "`HeartRate`?"))
        #expect(
            nowhere.isRefusal(
                64, "clarity-jobs: `export-data` wants a place for the records: --out PATH"))
    }

    @Test func `a damaged month is named and left out, by export-data and by audit`() async throws {
        let playground = try await playground()
        try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite).execute(
            """
            UPDATE segments
            SET sealed = CAST(x'00' || substr(sealed, 2) AS BLOB)
            WHERE id = (SELECT min(id) FROM segments WHERE type LIKE '%HeartRate')
            """)

        let export = try await playground.run(
            "export-data", "--out", "\(playground.folder.path)/records")
        let audit = try await playground.run("audit")

        #expect(export.status == 1 && audit.status == 1)
        let month = "HKQuantityTypeIdentifierHeartRate in 2026-1"
        #expect(export.output.contains("records of \(month)"))
        #expect(audit.output.contains("archive: records of \(month)"))
        #expect(!export.output.contains("\n2133 records"))
    }

    // MARK: progress

    @Test func `a terminal shows how far it is, and nothing of it stays`() async throws {
        let playground = try await playground()
        let folder = "\(playground.folder.path)/records"

        let end = try await playground.onTerminal("export-data", "--out", folder).finish()

        #expect(end.status == 0)
        #expect(
            end.screen.contains(
                /^\r\u{1B}\[K\[=* *\] \d+ %  \d+ records  month 1 of \d+/), "\(end.screen)")
        #expect(end.screen.contains("\r\u{1B}[KActivitySummary.csv: "))
        #expect(
            end.screen.split(separator: "\r\u{1B}[K").last?.contains("2231 records of 25 types in")
                == true)
    }

    @Test(arguments: [["-q"], []])
    func `no progress is shown to whom it would disturb`(quiet: [String]) async throws {
        let playground = try await playground()
        let words = ["export-data", "--out", "\(playground.folder.path)/records"] + quiet
        var environment = playground.terminalEnvironment
        if quiet.isEmpty { environment["TERM"] = "dumb" }

        let end = try await TerminalProgram(
            "\(ChildProgram.folder)/clarity-jobs", words, environment: environment
        ).finish()
        let piped = try await playground.run(
            "export-data", "--out", "\(playground.folder.path)/more")

        #expect(end.status == 0 && end.screen.contains("2231 records of 25 types"))
        #expect(!end.screen.contains("\u{1B}") && !piped.errors.contains("\u{1B}"))
    }

    // MARK: a full disk

    @Test(arguments: ["csv", "fhir", "sqlite"])
    func `an error leaves no unfinished file, and the next export has everything`(
        format: String
    ) async throws {
        let playground = try await playground()
        let folder = "\(playground.folder.path)/out"
        mkdir(folder, 0o700)
        let path = format == "sqlite" ? "\(folder)/records.db" : "\(folder)/records"
        let faultline = Faultline(counts: "\(playground.folder.path)/counts")
        let full = Faultline.Rule(
            program: .scheduler, point: .write, when: .before, nth: 3, goesOn: true,
            action: "ENOSPC")

        let failed = try await playground.run(
            "export-data", "--out", path, "--format", format,
            environment: faultline.environment(rules: [full], folder: folder))
        let left = try FileManager.default.subpathsOfDirectory(atPath: folder)

        #expect(failed.status == 74, "\(failed.output) \(failed.errors)")
        #expect(failed.errors.hasPrefix("clarity-jobs: cannot write `\(path)"))
        #expect(left.allSatisfy { !$0.hasSuffix(".part") }, "\(left)")
        #expect(left.count == (format == "sqlite" ? 0 : 3), "\(left)")
        #expect(left.allSatisfy { $0 == "records" || $0.contains(/(csv|ndjson)$/) }, "\(left)")
        let again = try await playground.run(
            "export-data", "--out", "\(path)-2", "--format", format)
        #expect(again.status == 0 && again.output.contains("2231 records of 25 types"))
    }
}
