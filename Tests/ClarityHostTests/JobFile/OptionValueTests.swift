import ClarityHost
import ClarityScheduler
import Testing

/// Numbers, time zones and dates as values of options.
@Suite struct OptionValueTests {
    @Test(arguments: ["0.5", "2", "1000", "0.10"])
    func `a number may have a fraction`(number: String) {
        let text = "version: 1\nbackend: { url: 'https://a.example', rate: \(number) }\njobs: []\n"

        #expect(JobFileSamples.faults(text).isEmpty)
    }

    @Test(arguments: [
        ("0.05", "is out of range, wanted 0.1 to 1000"),
        ("-0.5", "is out of range, wanted 0.1 to 1000"),
        ("1000.5", "is out of range, wanted 0.1 to 1000"),
        ("1e2", "is not a number"), ("nan", "is not a number"), ("1.", "is not a number"),
        ("1.-5", "is not a number"), ("0x1", "is not a number"), ("1.2.3", "is not a number"),
        ("'2'", "is not a number"),
    ])
    func `a number is written in digits and in its range`(number: String, fault: String) {
        let text = "version: 1\nbackend: { url: 'https://a.example', rate: \(number) }\njobs: []\n"
        let shown = number.replacing("'", with: "")

        #expect(
            JobFileSamples.faults(text).first?.hasPrefix(
                "jobs.yaml:2:44: rate `\(shown)` \(fault)") == true)
    }

    @Test(arguments: [
        MessageCase(
            job: "",
            top: "sources: [{ kind: apple-health-export, path: x, time_zone: Europe/london }]",
            "jobs.yaml:7:60: unknown time zone `Europe/london`; did you mean `Europe/London`?"),
        MessageCase(
            job: "",
            top: "sources: [{ kind: apple-health-export, path: x, since: yesterday }]",
            """
            jobs.yaml:7:56: since `yesterday` is neither a date nor an instant
            help: write it as `2026-01-31` or `2026-01-31T06:00:00Z`
            """),
    ])
    func `a zone and a date of an option are checked`(message: MessageCase) {
        #expect(JobFileSamples.faults(message.text) == message.printed)
    }

    @Test func `the sources of an account name one time zone`() {
        let entries = [
            "- { kind: apple-health-export, path: x, time_zone: Europe/London }",
            "- { kind: spool, path: y }",
            "- { kind: apple-health-export, path: z, time_zone: Europe/London }",
            "- { kind: apple-health-export, path: w, time_zone: Europe/Berlin }",
        ]
        let faults = JobFileSamples.faults(
            JobFileSamples.file(
                job: "", top: "sources:\n" + entries.joined(separator: "\n")))

        #expect(
            faults == [
                "jobs.yaml:11:3: entry 4 of `sources` has the `time_zone` `Europe/Berlin`, and "
                    + "entry 1 has `Europe/London`; all entries have the same"
            ])
    }

    @Test(arguments: ["2026-01-31", "2026-01-31T06:00:00Z", "2024-02-29T00:00:00+01:00"])
    func `a date or an instant is handed on as it is written`(text: String) throws {
        let file = try JobFileSamples.read(
            JobFileSamples.file(
                job: "",
                top: "sources: [{ kind: apple-health-export, path: x, since: '\(text)' }]"))

        #expect(file.sections.options["sources.0.since"] == text)
    }
}
