// The commands that read the data on this machine.
extension CommandSyntax {
    /// These commands also write CSV, for spreadsheets.
    private static let output = OptionSyntax(
        "output", "o", value: "FORM", choices: ["table", "json", "ndjson", "csv"],
        summary: "format of the results")

    private static let until = OptionSyntax(
        "until", value: "DATE", summary: "the last day; default today")

    private static let offline = [
        "Reads the data on this machine, without the backend. Each answer says when it was synced."
    ]

    static let metrics = CommandSyntax(
        name: "metrics",
        summary: "List metrics, or show one of them day by day.",
        details: offline + [
            "TYPE is a type such as `heart_rate`, `sleep` or `activity`, or one of its numbers such as",
            "`steps` or `resting_heart_rate`. Days follow the time zone of the sources. A night belongs",
            "to the day on which it ends. `records` shows what your sources had, record by record.",
        ],
        operands: "[TYPE]",
        options: [
            OptionSyntax(
                "since", value: "SINCE",
                summary: "a number of days such as 30d, or a first date; default 30d"),
            until, output, .now,
        ],
        examples: [
            "clarity-jobs metrics",
            "clarity-jobs metrics heart_rate --since 30d",
            "clarity-jobs metrics steps --since 2026-01-01 --output csv",
        ])

    static let records = CommandSyntax(
        name: "records",
        summary: "List the records that this machine keeps, or show those of one type.",
        details: [
            "Reads the archive, which has every record of your sources, whether it was sent or not. TYPE is",
            "a type such as `HeartRate`, `SleepAnalysis` or `Workout`. Records of all sources count: what a",
            "watch and a phone both counted is in a sum twice; `metrics steps` has the merged days.",
        ],
        operands: "[TYPE]",
        options: [
            OptionSyntax(
                "by", value: "PERIOD", choices: ["raw", "hour", "day", "month"],
                summary: "what a row stands for, raw for one record; default day"),
            OptionSyntax(
                "since", value: "SINCE",
                summary: "a number of days such as 30d, or a first date; default 30d, by month all"),
            until, output, .now,
        ],
        examples: [
            "clarity-jobs records",
            "clarity-jobs records HeartRate --by hour --since 2d",
            "clarity-jobs records StepCount --by month --output csv",
            "clarity-jobs records Workout --by raw --since 2026-01-01 --until 2026-01-31",
        ])

    static let report = CommandSyntax(
        name: "report", summary: "Write a month as one page, to print or to send.",
        details: [
            "The page has charts, tables, nights, workouts, insights and what is missing, each day in the",
            "time zone of your account. It is one HTML file without scripts, loads nothing, and prints on",
            "A4. It is readable by you only and not encrypted. Nothing is overwritten. The audit log",
            "records it.",
        ],
        options: [
            OptionSyntax(
                "month", value: "MONTH",
                summary: "a month such as 2026-10; default the last whole one"),
            OptionSyntax("out", value: "FILE", summary: "a new file; `-` is standard output"),
            .now,
        ],
        examples: [
            "clarity-jobs report --out ~/october.html --month 2026-10",
            "clarity-jobs report --out - > ~/last-month.html",
        ])

    static let insights = CommandSyntax(
        name: "insights", summary: "List insights, or show one of them.",
        details: offline + ["ID is an insight's id, or an unambiguous beginning of it."],
        operands: "[ID]",
        options: [
            OptionSyntax(
                "limit", "n", value: "N", summary: "number of insights; default and most 1000"),
            OptionSyntax("offset", value: "N", summary: "leave out so many of the latest"),
            output, .now,
        ],
        examples: [
            "clarity-jobs insights -n 10",
            "clarity-jobs insights -n 10 --offset 10",
        ])

    static let analyses = CommandSyntax(
        name: "analyses", summary: "List the weeks that were analysed, or show one analysis.",
        details: [
            "Reads the data on this machine, without the backend. A job of kind `pat-analysis` sends a",
            "week of steps to be analysed. NUMBER is the number of an analysis in the list; then you see",
            "all numbers that the backend found, and with --output json its whole answer.",
        ],
        operands: "[NUMBER]",
        options: [
            OptionSyntax(
                "since", value: "SINCE",
                summary: "only weeks that end since then: days such as 30d, or a date"),
            OptionSyntax(
                "until", value: "DATE", summary: "only weeks that end on this day or before"),
            output, .now,
        ],
        examples: [
            "clarity-jobs analyses --since 90d",
            "clarity-jobs analyses 3 --output json",
        ])

    static let profile = CommandSyntax(
        name: "profile", summary: "Show your profile, as the backend has it.",
        details: offline, options: [output, .now])

    static let summary = CommandSyntax(
        name: "summary",
        summary: "Show a day on one screen: steps, heart rate, sleep, the latest insight.",
        details: offline + [
            "--now 2026-11-20 shows that day, in the time zone of the sources."
        ], options: [output, .now])

    static let archive = CommandSyntax(
        name: "archive", summary: "Show versions that later ones have replaced.",
        commands: [
            CommandSyntax(
                name: "list", summary: "List archived versions, last archived first.",
                options: [
                    OptionSyntax(
                        "type", value: "TYPE", summary: "only versions of the backend's type TYPE"),
                    OptionSyntax(
                        "since", value: "SPAN",
                        summary: "only versions of the last days, such as 7d"),
                    output, .now,
                ]),
            CommandSyntax(
                name: "show", summary: "Show one archived version with its content.",
                operands: "NUMBER", options: [output, .now]),
        ])
}
