import HealthStore
import ClarityScheduler
import ClarityTestSupport
import Glibc
import Testing

@testable import Import

@Suite struct SourceEntryTests {
    private let folder: TemporaryFolder
    private let now = Instant(secondsSince1970: 1_790_000_000)

    init() throws { folder = try TemporaryFolder() }

    private func options(
        _ sources: [String: String], environment: [String: String] = ["TZ": "Europe/London"]
    ) throws -> SourceSettings {
        let order = AttemptOrder(
            run: RunID(1), job: try #require(JobID("upload")), kind: JobKind("bulk-upload"),
            attempt: 1, fencingToken: 1, scheduledFor: now, timeout: .zero, warning: .zero,
            memoryLimitBytes: 0,
            options: Dictionary(
                uniqueKeysWithValues: sources.map { ("sources.\($0.key)", $0.value) }))
        return try SourceSettings(order, zones: SourceZones(environment: environment))
    }

    @Test func `an entry has its own zone, or this machine's`() throws {
        let origins = try options([
            "0.kind": "apple-health-export", "0.path": "/a/export.zip",
            "0.time_zone": "America/New_York", "0.prefer": "Watch\nPhone",
            "0.since": "2026-07-01", "1.kind": "spool", "1.path": "/b",
            "2.kind": "health-auto-export", "2.path": "/c", "3.path": "/never",
        ]).sourceEntries()

        #expect(origins.map(\.kind) == [.appleHealthExport, .spool, .healthAutoExport])
        #expect(
            origins.map(\.zone.identifier) == [
                "America/New_York", "Europe/London", "Europe/London",
            ])
        #expect(origins.first?.preferred == ["Watch", "Phone"])
        #expect(origins.first?.since == Instant(rfc3339: "2026-07-01T04:00:00Z"))
    }

    @Test(arguments: [
        (["0.kind": "fitbit", "0.path": "/a"], "there is no source of the kind `fitbit`"),
        (["0.kind": "spool"], "`sources.0.path` is missing"),
        (
            ["0.kind": "spool", "0.path": "/a", "0.time_zone": "Mars/Base"],
            "`Mars/Base` is no time zone that this machine knows"
        ),
        (
            ["0.kind": "apple-health-export", "0.path": "/a", "0.since": "soon"],
            "`sources.0.since` is neither a date nor an instant"
        ),
    ])
    func `an entry that does not fit is a matter of configuration`(
        entry: [String: String], reason: String
    ) throws {
        #expect(throws: Failure(.configuration, reason)) {
            try options(entry).sourceEntries()
        }
    }

    @Test func `a folder is as many sources as it has files, in the order of their names`() throws {
        mkdir("\(folder.path)/auto", 0o700)
        mkdir("\(folder.path)/spool", 0o700)
        for name in ["auto/2.json", "auto/1.json", "spool/b.ndjson", "spool/a.json", "spool/c.tmp"]
        {
            try folder.write(name, [1])
        }

        let sources = try options([
            "0.kind": "health-auto-export", "0.path": "\(folder.path)/auto",
            "1.kind": "spool", "1.path": "\(folder.path)/spool",
            "2.kind": "spool", "2.path": "\(folder.path)/missing",
        ]).sources(now: now)

        #expect(
            sources.map(\.path)
                == [
                    "auto/1.json", "auto/2.json", "spool/a.json", "spool/b.ndjson", "missing",
                ].map { "\(folder.path)/\($0)" })
        #expect(throws: SourceError.missing(path: "\(folder.path)/missing")) {
            try sources.last?.read(progress: nil) { _, _ in }
        }
    }

    @Test(
        arguments: [
            ("PK\u{3}\u{4}and more", .appleHealthExport),
            ("<?xml version=\"1.0\"?>\n<HealthData locale=\"en\">", .appleHealthExport),
            ("{ \"data\" : { \"metrics\":[", .healthAutoExport), ("{\"kind\":\"steps\"}", .spool),
            ("\u{FEFF}\n [", .spool),
            ("\u{FEFF}{\"data\":{", .healthAutoExport),
            ("{\"kind\":{\"a\":[1,\"}\"]},\"data\":{\"me", .healthAutoExport),
            ("{\"kind\":{\"data\":{}}}", .spool), ("{\"data\":7,\"b\":{\"x", .spool),
            ("hello", nil), ("<html>", nil), ("\n\n", nil),
        ] as [(String, SourceEntry.Kind?)])
    func `a file is told by its first bytes`(text: String, kind: SourceEntry.Kind?) {
        #expect(SourceRecognition.kind(of: Array(text.utf8)) == kind)
    }

    @Test func `a spool file is moved only after it was read to its end`() throws {
        struct Stop: Error {}
        let line = "{\"kind\":\"heart_rate\",\"start\":\"2026-01-02T03:04:05Z\",\"value\":61}\n"
        try folder.write("a.ndjson", Array(line.utf8))
        let source = SpoolSource(
            folder: SourcePlace(folder.path), folderName: "spool", fileName: "a.ndjson", now: now,
            since: nil)

        let early = try source.settle()
        #expect(throws: Stop.self) { try source.read(progress: nil) { _, _ in throw Stop() } }
        let broken = try source.settle()
        var samples = 0
        _ = try source.read(progress: nil) { _, _ in samples += 1 }
        let whole = try source.settle()

        #expect([early, broken, whole] == [.waiting, .waiting, .done])
        #expect(samples == 1)
        #expect(try folder.contents().keys.sorted() == ["done", "done/a.ndjson"])
    }

    @Test func `a spool file that is too large is rejected without being read`() throws {
        let path = try folder.write("a.ndjson", [])
        #expect(truncate(path, (64 << 20) + 1) == 0)
        let source = SpoolSource(
            folder: SourcePlace(folder.path), folderName: "spool", fileName: "a.ndjson", now: now,
            since: nil)

        let report = try source.read(progress: nil) { _, _ in }

        #expect(try source.settle() == .rejected)
        #expect(report == SourceReport())
        let reason = try TemporaryFolder.read("\(folder.path)/rejected/a.ndjson.reason")
        #expect(
            String(decoding: reason, as: UTF8.self)
                == "line 1: the file has more than 64 MiB\n0 good samples were taken\n")
    }
}
