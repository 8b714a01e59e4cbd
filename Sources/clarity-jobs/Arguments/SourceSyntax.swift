// The commands for sources.
extension CommandSyntax {
    static let exportData = CommandSyntax(
        name: "export-data", summary: "Write the records that you handed over, in the clear.",
        details: [
            "Writes everything that your sources said of each record, readable by you only and not",
            "encrypted. `csv` makes a folder with a file for each type, `fhir` a folder with a file of",
            "FHIR R4 Observations (NDJSON) for each type, `sqlite` a file with a table for each type and",
            "views of their days. Nothing is overwritten. The audit log records it. With --all, PATH is a",
            "folder that gets one of them for each account.",
        ],
        options: [
            .all,
            OptionSyntax(
                "out", value: "PATH",
                summary: "a new or empty folder; for sqlite a new file"),
            OptionSyntax(
                "format", value: "FORMAT", choices: ["csv", "fhir", "sqlite"],
                summary: "what to write; default csv"),
            OptionSyntax(
                "types", value: "TYPES",
                summary: "only these types, such as HeartRate,StepCount; default all"),
            OptionSyntax(
                "since", value: "TIME", summary: "only records that start then or later"),
            OptionSyntax("until", value: "TIME", summary: "only records that start before"),
        ],
        examples: [
            "clarity-jobs export-data --out ~/records",
            "clarity-jobs export-data --out ~/heart --types HeartRate --since 2026-01-01",
            "clarity-jobs export-data --out ~/records.db --format sqlite",
            "clarity-jobs export-data --out ~/fhir --format fhir",
        ])
    static let importing = CommandSyntax(
        name: "import",
        summary: "Read a file into the outbox; `bulk-upload` sends it later.",
        details: [
            "Accepts an Apple Health export (zip, xml or folder), a file or folder of Health Auto Export,",
            "or a file of samples, and recognises which it is. If the job file has a source with the same",
            "path, its settings apply. The file stays where it is.",
        ],
        operands: "FILE",
        options: [
            OptionSyntax(
                "kind", value: "KIND",
                choices: ["apple-health-export", "health-auto-export", "spool"],
                summary: "kind of the file"),
            OptionSyntax(
                "since", value: "DATE",
                summary: "only records that start then or later (a date or RFC 3339)"),
            OptionSyntax(
                "time-zone", value: "ZONE",
                summary: "time zone of the days"),
            OptionSyntax(
                "change-time-zone",
                summary: "change the time zone of all days; sent days stay"),
            OptionSyntax(
                "prefer", value: "NAME",
                summary: "a device or app that takes precedence; may be repeated"),
            OptionSyntax(
                "report", summary: "show what was found, by type, source and reason"),
        ],
        examples: [
            "clarity-jobs import ~/Health/export.zip --report",
            "clarity-jobs import export.xml --since 2026-01-01 --prefer 'Apple Watch'",
        ])

    static let sources = CommandSyntax(
        name: "sources",
        summary: "List the sources of the job file and the state of each.",
        examples: ["clarity-jobs sources --output json"])
}
