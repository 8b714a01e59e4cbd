import ClarityTestSupport
import Foundation
@testable import ProgramTestSupport
import SQLite
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
        import csv, glob, json, sys, zipfile
        import xml.etree.ElementTree as tree
        zip, folder = sys.argv[1:]
        archive = zipfile.ZipFile(zip)
        name = next(n for n in archive.namelist()
            if n.endswith('.xml') and not n.endswith('_cda.xml'))
        def time(text):
            return text and text[:10] + 'T' + text[11:19] + text[20:23] + ':' + text[23:]
        def device(text):
            if not text.startswith('<<HKDevice: 0x'): return text
            return '<<HKDevice: ' + text[text.index('>'):]
        wanted = []
        for record in tree.parse(archive.open(name)).getroot().findall('Record'):
            get = lambda name: record.get(name, '')
            metadata = {m.get('key'): m.get('value') for m in record.findall('MetadataEntry')}
            wanted.append([get('type'), get('sourceName'), get('sourceVersion'),
                device(get('device')), get('unit'), time(get('creationDate')),
                time(get('startDate')), time(get('endDate')), get('value'),
                json.dumps(metadata, sort_keys=True) if metadata else ''])
        found = []
        for path in glob.glob(folder + '/*.csv'):
            with open(path, newline='', encoding='utf-8') as file:
                rows = list(csv.reader(file))
            assert rows[0] == ['type', 'source', 'source_version', 'device', 'unit', 'created',
                'start', 'end', 'value', 'metadata'], rows[0]
            for row in rows[1:]:
                if row[9]: row[9] = json.dumps(json.loads(row[9]), sort_keys=True)
                found.append(row)
        print(len(wanted), len(found), sorted(wanted) == sorted(found))
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
        #expect(compared.output == "2133 2133 True\n", "\(compared.errors)")
        #expect(result.output.hasSuffix("2133 records of 19 types in \(folder)\n"))
        #expect(result.errors.contains("is not encrypted"))
    }

    @Test func `a database has every record, and days of each type with numbers`() async throws {
        let playground = try await playground()
        let path = "\(playground.folder.path)/records.db"

        let result = try await playground.run("export-data", "--out", path, "--format", "sqlite")
        let again = try await playground.run("export-data", "--out", path, "--format", "sqlite")

        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.hasSuffix("2133 records of 19 types in \(path)\n"))
        #expect(again.isRefusal(78, "clarity-jobs: `\(path)` is there already; name another file"))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let database = try Connection(path: path, access: .immutable)
        func number(_ sql: String) throws -> Int64? { try database.first(sql) { $0.integer(0) } }
        #expect(try number(#"SELECT count(*) FROM "all records""#) == 2133)
        #expect(try number("SELECT count(*) FROM HeartRate WHERE value > 0") == 507)
        #expect(try number("SELECT count(*) FROM HeartRate WHERE julianday(start) IS NULL") == 0)
        #expect(
            try number(#"SELECT sum(records) FROM "HeartRate by day""#)
                == number("SELECT count(*) FROM HeartRate"))
        #expect(
            try number("SELECT count(*) FROM SleepAnalysis WHERE typeof(value) = 'text'") ?? 0 > 0)
        #expect(try number("SELECT count(*) FROM HeartRate WHERE json_valid(metadata) = 0") == 0)
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
        #expect(counts[0] == 2133 && counts[1] > 0 && counts[2] > 0)
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
        try Connection(path: "\(playground.statePath)/health.db", access: .readWrite).execute(
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
}
