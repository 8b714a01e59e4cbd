// The commands that concern the sources.
extension CommandSyntax {
    static let importing = CommandSyntax(
        name: "import",
        summary: "Reads one file into the outbox; `bulk-upload` sends it later.",
        details: [
            "An export of Apple Health (zip, xml or folder), a file or folder of Health Auto Export, or",
            "a file of samples; which of them is told by the contents. Where the job file has a source",
            "with the same path, its settings count. The file stays where it is.",
        ],
        operands: "FILE",
        options: [
            OptionSyntax(
                "kind", value: "KIND",
                choices: ["apple-health-export", "health-auto-export", "spool"],
                summary: "what the file is"),
            OptionSyntax(
                "since", value: "DATE",
                summary: "take only what began then or later: a date or RFC 3339"),
            OptionSyntax(
                "time-zone", value: "ZONE",
                summary: "the time zone that days follow"),
            OptionSyntax(
                "change-time-zone",
                summary: "let all days follow another time zone; days that were sent stay"),
            OptionSyntax(
                "prefer", value: "NAME",
                summary: "a device or app that counts first; may be given several times"),
            OptionSyntax(
                "report", summary: "say what was found, by type, by source and by reason"),
        ],
        examples: [
            "clarity-jobs import ~/Health/export.zip --report",
            "clarity-jobs import export.xml --since 2026-01-01 --prefer 'Apple Watch'",
        ])

    static let sources = CommandSyntax(
        name: "sources",
        summary: "Lists the sources of the job file and how each of them stands.",
        examples: ["clarity-jobs sources --output json"])
}
