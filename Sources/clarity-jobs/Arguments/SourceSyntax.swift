// The commands for sources.
extension CommandSyntax {
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
