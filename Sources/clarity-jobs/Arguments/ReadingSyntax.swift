// The commands that read what is kept on this machine.
extension CommandSyntax {
    /// How these commands write: a table of numbers is wanted in a spreadsheet too.
    private static let output = OptionSyntax(
        "output", "o", value: "FORM", choices: ["table", "json", "ndjson", "csv"],
        summary: "how results are written")

    private static let offline = [
        "Reads what is kept on this machine and asks no backend; each answer says when it was synced."
    ]

    static let metrics = CommandSyntax(
        name: "metrics",
        summary: "Lists the metrics that are kept, or one of them day by day.",
        details: offline + [
            "TYPE is a type, such as `heart_rate`, `sleep` or `activity`, or one number of it, such as",
            "`steps` or `resting_heart_rate`. Days are told apart on the clock of the sources; a night",
            "belongs to the day on which it ends.",
        ],
        operands: "[TYPE]",
        options: [
            OptionSyntax(
                "since", value: "SINCE",
                summary: "so many days, such as 30d (the standard), or from a date on"),
            output, .now,
        ],
        examples: [
            "clarity-jobs metrics",
            "clarity-jobs metrics heart_rate --since 30d",
            "clarity-jobs metrics steps --since 2026-01-01 --output csv",
        ])

    static let insights = CommandSyntax(
        name: "insights", summary: "Lists the insights that are kept, or shows one of them.",
        details: offline + ["ID is an insight's id, or what it alone begins with."],
        operands: "[ID]", options: [output, .now])

    static let profile = CommandSyntax(
        name: "profile", summary: "Shows what the backend says of the account.",
        details: offline, options: [output, .now])

    static let summary = CommandSyntax(
        name: "summary",
        summary: "Shows a day on one screen: steps, heart rate, sleep, the latest insight.",
        details: offline + [
            "--now 2026-11-20 shows another day, that date on the clock of the sources."
        ], options: [output, .now])

    static let archive = CommandSyntax(
        name: "archive", summary: "Shows the versions that lost against later ones.",
        commands: [
            CommandSyntax(
                name: "list", summary: "Lists archived versions, last archived first.",
                options: [
                    OptionSyntax(
                        "type", value: "TYPE", summary: "only those of the backend's type TYPE"),
                    OptionSyntax(
                        "since", value: "SPAN", summary: "only so far back, such as 7d"),
                    output, .now,
                ]),
            CommandSyntax(
                name: "show", summary: "Shows one archived version with its content.",
                operands: "NUMBER", options: [output, .now]),
        ])
}
