import ClarityScheduler
import Platform
import Testing

@testable import ClarityHost
@testable import clarity_jobs

@Suite("The reference of docs/jobs.md")
struct JobFileReferenceTests {
    private let reference = JobFileReference(Composition.catalogue)

    @Test func `the reference is generated from the declarations of the keys`() throws {
        let page = try ReferencePage("jobs.md")

        try page.check(reference.sections.map(Self.markdown).joined(separator: "\n"))
    }

    private static func markdown(_ section: JobFileReference.Section) -> String {
        let rows = JobFileReference.rows(of: section).map { row in
            "| \(row.names.joined(separator: ", ")) | \(row.value) | \(row.defaultValue) | "
                + "\(row.meaning) |\n"
        }
        return "### \(section.title)\n\n"
            + (JobFileReference.introduction(of: section).map { "\($0)\n\n" } ?? "")
            + "| key | value | default | meaning |\n|---|---|---|---|\n" + rows.joined()
    }

    @Test func `every key has a meaning that fits into a cell of a table`() {
        for key in reference.sections.flatMap(\.keys) {
            #expect(!key.summary.isEmpty && !key.summary.contains("|"), "\(key.name)")
            #expect(!key.summary.hasSuffix("."), "\(key.name)")
        }
    }

    /// A job file for each mapping whose keys have defaults, with `KEY` where such a key goes.
    private static let files = [
        "history": "store: { history: { KEY } }\njobs: []\nbackend: { url: https://a.example }",
        "backend": "jobs: []\nbackend: { url: https://a.example, KEY }",
        "defaults": "defaults: { KEY }\njobs: [{ id: a, kind: refresh }]\n"
            + "backend: { url: https://a.example }",
        "checks": "checks: { c: { command: [\"true\"], KEY } }\njobs: []\n"
            + "backend: { url: https://a.example }",
        "accounts": "jobs: []\nbackend: { url: https://a.example }\naccounts: [{ id: a, KEY }]",
        "mcp": "jobs: []\nmcp: { KEY }",
        "jobs": job("KEY"),
        "schedule": job("schedule: { every: 1h, KEY }"),
        "constraints": job("constraints: { KEY }"),
        "retry": job("retry: { KEY }"),
        "catch_up": job("catch_up: { KEY }"),
    ]

    private static func job(_ key: String) -> String {
        "jobs: [{ id: a, kind: command, options: { command: [\"true\"] }, \(key) }]"
    }

    /// Returns the file of the section with a title: of a mapping, or of the options of a kind.
    private static func file(of title: String) -> String? {
        let words = title.split(separator: "`").map(String.init)
        let targets = [
            "command": "command: [\"true\"]", "ntfy": "url: https://b.example",
            "webhook": "url: https://b.example, secret: s", "mail": "to: a@example.org",
            "healthchecks": "secret: s",
        ]
        if words.count > 3, words[1] == "notify", let kind = words[3].split(separator: " ").last,
            let required = targets[String(kind)]
        {
            return "jobs: []\nbackend: { url: https://a.example }\n"
                + "notify: [{ kind: \(kind), \(required), KEY }]"
        }
        guard words.count == 2 else { return nil }
        guard words[0] == "Options of the kind " else { return files[words[1]] }
        let required = [
            "command": "command: [\"true\"], ", "audit-upload": "url: https://b.example, ",
            "export-data": "folder: /a, ", "publish": "to: mqtt, url: \"mqtts://b.example\", ",
            "fhir-upload": "url: \"https://f.example\", patient: Patient/1, ",
        ]
        return "jobs: [{ id: a, kind: \(words[1]), options: { \(required[words[1]] ?? "")KEY } }]\n"
            + "backend: { url: https://a.example }"
    }

    @Test func `writing a default into a job file changes nothing`() throws {
        let reader = JobFileReader(
            catalogue: Composition.catalogue, zones: SystemZones(environment: [:]), home: "/home/a",
            workingDirectory: "/", localZone: "UTC", host: "host")
        var count = 0

        for section in reference.sections {
            for key in section.keys {
                guard let defaultValue = key.defaultText else { continue }
                let file = try #require(Self.file(of: section.title), "no file: \(section.title)")
                let read = { (text: String) throws in
                    var read = try reader.read(
                        Array("version: 1\n\(file.replacing("KEY", with: text))".utf8), path: "/f")
                    read.maxParallel = read.maxParallel ?? 2
                    return read
                }
                #expect(
                    try read("\(key.name): \(defaultValue)") == read(""),
                    "\(section.title) \(key.name): \(defaultValue)")
                count += 1
            }
        }

        #expect(count > 40)
    }
}
