import ClarityHost
import ClarityScheduler

/// A catalogue with every form of option and section, and readers that use it.
enum JobFileSamples {
    static let catalogue = JobCatalogue(
        kinds: [
            JobKindDeclaration(
                JobKind("refresh"), summary: "pulls",
                options: [
                    OptionDeclaration(
                        "page_size", .integer(1...500), default: "100", summary: "rows at once"),
                    OptionDeclaration("full", .boolean, summary: "whether all is pulled"),
                    OptionDeclaration("label", .text, summary: "a word for the log"),
                    OptionDeclaration("depth", .choice(["day", "week"]), summary: "how far back"),
                    OptionDeclaration("folder", .path, summary: "where it goes"),
                ]),
            JobKindDeclaration(
                JobKind("bulk-upload"), summary: "sends", heedsConditions: true),
            JobKindDeclaration(JobKind("processing-status"), summary: "asks"),
            JobKindDeclaration(JobKind("insight-history"), summary: "pulls insights"),
            JobKindDeclaration(
                JobKind("cleanup"), summary: "removes",
                options: [
                    OptionDeclaration(
                        "retain", .duration(.seconds(86_400) ... .seconds(365 * 86_400)),
                        default: "7776000000", summary: "how long values stay")
                ]),
            JobKindDeclaration(
                JobKind("command"), summary: "runs a program",
                options: [
                    OptionDeclaration("program", .path, isRequired: true, summary: "the program")
                ]),
        ],
        sections: [
            SectionDeclaration(
                "backend",
                .mapping([
                    OptionDeclaration("url", .url, isRequired: true, summary: "the address"),
                    OptionDeclaration(
                        "dialect", .choice(["auto", "blueprint", "loop"]), default: "auto",
                        summary: "the contract"),
                    OptionDeclaration("rate", .number(0.1...1000), summary: "requests a second"),
                ])),
            SectionDeclaration(
                "sources",
                .list(kinds: [
                    "apple-health-export": [
                        OptionDeclaration("path", .source, isRequired: true, summary: "the file"),
                        OptionDeclaration(
                            "time_zone", .timeZone, isShared: true, summary: "whose clock"),
                        OptionDeclaration("since", .dateOrInstant, summary: "from when on"),
                    ],
                    "spool": [
                        OptionDeclaration("path", .source, isRequired: true, summary: "the folder"),
                        OptionDeclaration(
                            "recursive", .boolean, default: "false", summary: "with subfolders"),
                    ],
                ])),
            SectionDeclaration(
                "limits",
                .mapping([
                    OptionDeclaration(
                        "requests", .integer(1...1000), default: "60", summary: "an hour"),
                    OptionDeclaration("names", .texts, summary: "whose they are"),
                ])),
        ],
        events: [
            EventName("upload-completed")
        ])

    static func reader(
        localZone: String = "Europe/Berlin", host: String = "ada",
        zones: SampleZones = SampleZones()
    ) -> JobFileReader {
        JobFileReader(
            catalogue: catalogue, zones: zones, home: "/home/ada",
            workingDirectory: "/srv/clarity", localZone: localZone, host: host)
    }

    /// Reads a text as a job file, or throws its faults.
    static func read(
        _ text: String, path: String = "jobs.yaml", localZone: String = "Europe/Berlin",
        zones: SampleZones = SampleZones()
    ) throws(JobFileFaults) -> JobFile {
        try reader(localZone: localZone, zones: zones).read(Array(text.utf8), path: path)
    }

    /// Returns the printed faults of a text; the list is empty if there are none.
    static func faults(
        _ text: String, localZone: String = "Europe/Berlin", zones: SampleZones = SampleZones()
    ) -> [String] {
        do throws(JobFileFaults) {
            _ = try read(text, localZone: localZone, zones: zones)
            return []
        } catch {
            return error.faults.map { $0.text(path: error.path) }
        }
    }

    /// Returns a file with one job, `a`, of kind `refresh`; `keys` begin at line 6, column 5.
    static func file(job keys: String, top: String = "") -> String {
        """
        version: 1
        backend: { url: "https://clarity.example/api" }
        jobs:
          - id: a
            kind: refresh
            \(keys.replacing("\n", with: "\n    "))
        \(top)
        """
    }
}

/// Zones that follow one rule each, made here so that no test needs the machine's zones.
struct SampleZones: ZoneSource {
    var isEmpty = false

    func tzif(for identifier: String) -> [UInt8]? {
        switch identifier {
        case _ where isEmpty: nil
        case "Europe/London": Self.bytes(rule: "GMT0BST,M3.5.0/1,M10.5.0")
        case "Europe/Berlin": Self.bytes(rule: "CET-1CEST,M3.5.0,M10.5.0/3")
        case "America/New_York": Self.bytes(rule: "EST5EDT,M3.2.0,M11.1.0")
        case "UTC": Self.bytes(rule: "UTC0")
        case "Broken/Zone": Array("TZif2".utf8)
        default: nil
        }
    }

    /// Returns a version 2 TZif file without transitions, whose footer is the rule.
    static func bytes(rule: String) -> [UInt8] {
        // Counts of: UTC indicators, standard indicators, leap seconds, transitions, types, names.
        let counts: [UInt8] = [
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4,
        ]
        let header = Array("TZif2".utf8) + [UInt8](repeating: 0, count: 15) + counts
        let block: [UInt8] = [0, 0, 0, 0, 0, 0] + Array("LMT\0".utf8)
        return header + block + header + block + Array("\n\(rule)\n".utf8)
    }
}
