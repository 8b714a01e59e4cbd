// The commands that read nights, workouts and months over any number of years.
extension CommandSyntax {
    /// The days of `nights`, `workouts` and `activity`.
    private static func span(_ one: String) -> [OptionSyntax] {
        [
            OptionSyntax(
                "by", value: "PERIOD", choices: ["each", "month"],
                summary: "what a row stands for, each for one \(one); default each"),
            OptionSyntax(
                "since", value: "SINCE",
                summary: "a number of days such as 30d, or a first date; default 30d, by month all"),
            OptionSyntax(
                "until", value: "DATE", summary: "the last day; default that of the newest \(one)"),
            output, .now,
        ]
    }

    static let nights = CommandSyntax(
        name: "nights", summary: "List nights, or what those of each month have in common.",
        details: [
            "Made of the records of sleep: a pause of 90 minutes ends a night, which belongs to the day on",
            "which it ends. By month, it shows how long nights were and when they usually began and ended.",
        ], options: span("night"),
        examples: [
            "clarity-jobs nights", "clarity-jobs nights --by month --since 2016-01-01",
        ])

    static let workouts = CommandSyntax(
        name: "workouts", summary: "List workouts, or how much those of each month are.",
        options: span("workout"),
        examples: [
            "clarity-jobs workouts --since 90d", "clarity-jobs workouts --by month --output csv",
        ])

    static let activity = CommandSyntax(
        name: "activity", summary: "List what your watch counted of each day beside your goals.",
        details: [
            "The three rings of a watch: movement, exercise and standing. By month, it shows on how many",
            "days you met each goal, and how many days in a row you met all.",
        ], options: span("day"),
        examples: ["clarity-jobs activity", "clarity-jobs activity --by month"])

    static let diary = CommandSyntax(
        name: "diary", summary: "List symptoms, medications, moods, the cycle and notifications.",
        details: [
            "What you noted, and what your watch told you, the latest first. A dose that was skipped is",
            "listed as skipped. Words of sources in other languages stay as they are.",
        ],
        options: [
            OptionSyntax(
                "since", value: "SINCE",
                summary: "a number of days such as 90d, or a first date; default 30d"),
            OptionSyntax(
                "until", value: "DATE", summary: "the last day; default that of the newest entry"),
            output, .now,
        ],
        examples: ["clarity-jobs diary --since 90d", "clarity-jobs diary --output csv"])

    static let electrocardiograms = CommandSyntax(
        name: "ecgs", summary: "List electrocardiograms, or show the curve of one.",
        details: [
            "START is when one begins, as --output json lists it. JSON and NDJSON then have its curve."
        ],
        operands: "[START]",
        options: [
            OptionSyntax(
                "since", value: "SINCE",
                summary: "a number of days such as 90d, or a first date; default all"),
            OptionSyntax("until", value: "DATE", summary: "the last day; default today"),
            output, .now,
        ],
        examples: [
            "clarity-jobs ecgs", "clarity-jobs ecgs 2026-01-31T08:00:00Z --output json",
        ])

    static let year = CommandSyntax(
        name: "year", summary: "Show a year beside the one before.",
        details: offline + [
            "A year that is not over is compared with the same part of the one before. `report --year`",
            "writes it as one page, to print or to send.",
        ],
        operands: "[YEAR]", options: [output, .now],
        examples: ["clarity-jobs year", "clarity-jobs year 2025 --output json"])

    static let assistant = CommandSyntax(
        name: "mcp", summary: "Answer the questions of your own assistant about your data.",
        details: [
            "Speaks the Model Context Protocol on standard input and output: an assistant on this machine",
            "starts it. It only reads, and only what `mcp:` in the job file allows; nothing without that.",
            "An answer has at most 400 points and says what it leaves out. Each reading of health data is",
            "in the audit log. What the assistant does with an answer is its own: it may send it away.",
        ],
        examples: ["clarity-jobs mcp"])

    static let trends = CommandSyntax(
        name: "trends", summary: "Compare a month with the twelve months before it.",
        details: offline + [
            "A measure is compared with its own earlier months only. USUAL is from their lower to their upper",
            "quartile.",
        ],
        options: [
            OptionSyntax(
                "month", value: "MONTH",
                summary: "the month, such as 2026-10; default the newest with ten days"),
            output, .now,
        ],
        examples: ["clarity-jobs trends", "clarity-jobs trends --month 2025-12"])
}
