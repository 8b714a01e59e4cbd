// The commands that read the data on this machine.
extension CommandSyntax {
    /// These commands also write CSV, for spreadsheets.
    static let output = OptionSyntax(
        "output", "o", value: "FORM", choices: ["table", "json", "ndjson", "csv"],
        summary: "format of the results")

    private static let until = OptionSyntax(
        "until", value: "DATE", summary: "the last day; default today")

    static let offline = [
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
            until,
            OptionSyntax(
                "cut", value: "N", summary: "cut longer texts of metadata to so many characters"),
            output, .now,
        ],
        examples: [
            "clarity-jobs records",
            "clarity-jobs records HeartRate --by hour --since 2d",
            "clarity-jobs records StepCount --by month --output csv",
            "clarity-jobs records Workout --by raw --since 2026-01-01 --until 2026-01-31",
        ])

    static let report = CommandSyntax(
        name: "report", summary: "Write a month or a year as one page, to print or to send.",
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
            OptionSyntax("year", value: "YEAR", summary: "a year such as 2025, instead of a month"),
            OptionSyntax("out", value: "FILE", summary: "a new file; `-` is standard output"),
            .now,
        ],
        examples: [
            "clarity-jobs report --out ~/2025.html --year 2025",
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

// The commands that explain decisions.
extension CommandSyntax {
    static let explain = CommandSyntax(
        name: "explain", summary: "Explain why a job runs now or does not.",
        details: [
            "Shows each constraint with the value that it needs and the value that was measured, every",
            "other reason to wait, what would end the wait, and when the job probably starts. The",
            "estimate is the median wait for the same reason in the last 7 days, if it happened at",
            "least three times.",
            "",
            "With --at, explains the last occurrence up to that time: which run stands for it, what the",
            "run waited for and how long, and when no scheduler ran.",
        ],
        operands: "JOB",
        options: [
            OptionSyntax("at", value: "TIME", summary: "explain that time instead of the present"),
            .now,
        ],
        examples: [
            "clarity-jobs explain com.clarity.healthkit.upload",
            "clarity-jobs explain com.clarity.cleanup --at '2026-11-20 03:30'",
        ])

    static let doctor = CommandSyntax(
        name: "doctor",
        summary: "Show this machine's conditions and where each value comes from.",
        details: [
            "Shows each condition with its source and the time of measurement, what is missing to know",
            "more, and which changes clarity-jobs is notified of. Runs every check of the job file.",
            "Starts no service and changes nothing.",
            "",
            "With --backend, asks the backend instead: whether it answers and is trusted, its dialect and",
            "limits, the difference of the clocks, the session, and what it says of its own health.",
        ],
        options: [OptionSyntax("backend", summary: "ask the backend instead of the machine")],
        examples: ["clarity-jobs doctor --output json"])

    static let simulate = CommandSyntax(
        name: "simulate", summary: "Show which runs there would be, and change nothing.",
        details: [
            "Makes the decisions of the loop on a simulated clock. Conditions come from the trace; without",
            "one, every constraint holds. Attempts succeed and take as long as the median of the job's",
            "last 20 successful attempts on this machine, or --attempt. Sources never change. Schedules",
            "with `every` continue from this machine's history, or begin at the start time.",
            "",
            "With --accounts, simulates so many invented accounts with the jobs of a job file with",
            "`accounts`, and shows sums: how late runs start, how many attempts run at the same time, and",
            "what it takes to decide and record. A million runs take a few minutes.",
        ],
        operands: "[JOB...]",
        options: [
            OptionSyntax(
                "from", value: "TIME",
                summary: "start time; default: the start of the trace, or now"),
            OptionSyntax("days", value: "N", summary: "number of days, 1 to 3660; default 7"),
            OptionSyntax(
                "trace", value: "FILE", summary: "conditions recorded by `trace record`"),
            OptionSyntax(
                "accounts", value: "N", summary: "number of invented accounts, 1 to 100000"),
            OptionSyntax(
                "attempt", value: "SPAN",
                summary: "length of an attempt; default 30s, or half of its timeout if that is less"
            ),
            .now,
        ],
        examples: [
            "clarity-jobs simulate --days 1",
            "clarity-jobs simulate --trace week.ndjson --days 7 --output json",
            "clarity-jobs simulate --accounts 1000 --days 1 --attempt 2s",
        ])
}

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
                "patient", value: "PATIENT",
                summary: "whose Observations they are: Patient/ID, or SYSTEM|VALUE of an identifier"
            ),
            OptionSyntax(
                "grain", value: "GRAIN", choices: ["single", "hourly", "days"],
                summary: "what an Observation has: a record, readings of an hour, a day"),
            OptionSyntax(
                "since", value: "TIME", summary: "only records that start then or later"),
            OptionSyntax("until", value: "TIME", summary: "only records that start before"),
        ],
        examples: [
            "clarity-jobs export-data --out ~/records",
            "clarity-jobs export-data --out ~/heart --types HeartRate --since 2026-01-01",
            "clarity-jobs export-data --out ~/records.db --format sqlite",
            "clarity-jobs export-data --out ~/fhir --format fhir --patient Patient/42",
        ])
    static let importing = CommandSyntax(
        name: "import",
        summary: "Read a file into the archive; a job of the kind `bulk-upload` sends it later.",
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

// The commands for samples: waiting, sent and refused ones.
extension CommandSyntax {
    static let outbox = CommandSyntax(
        name: "outbox",
        summary: "Show where every record and sample is.",
        details: [
            "Every record ever read is queued, a duplicate, part of a day or a night, or refused for a",
            "reason. Every sample in the outbox is confirmed, under way, rejected, set aside or waiting.",
            "`clarity-jobs audit` checks these sums.",
        ],
        options: [.all],
        examples: [
            "clarity-jobs outbox",
            "clarity-jobs outbox list --in-state set-aside",
            "clarity-jobs outbox show 17",
            "clarity-jobs outbox retry 17 18",
            "clarity-jobs outbox retry --in-state set-aside --type heart_rate",
            "clarity-jobs outbox discard --reason range --age 90d",
        ],
        commands: [
            CommandSyntax(
                name: "list", summary: "List samples without their values, newest first.",
                options: filters + [
                    OptionSyntax("limit", "n", value: "N", summary: "number of samples; default 20")
                ]),
            CommandSyntax(
                name: "show",
                summary: "Show one sample: its state, the reason, and the backend's answer.",
                operands: "ID",
                options: [
                    OptionSyntax(
                        "values",
                        summary: "show its value too, on a terminal only; the audit log records it")
                ]),
            CommandSyntax(
                name: "retry",
                summary: "Queue rejected, unconfirmed and set aside samples again.",
                details: [
                    "Shows what it would do and asks on the terminal. Discarded samples come back only with",
                    "--reason discarded; they are then read again from their source. Samples that were erased",
                    "at the backend come back only with --reason erased. Stored samples are sent again only with",
                    "--in-state stored or by their numbers; the backend has them, and may then have them twice.",
                ],
                operands: "[ID...]", options: filters + confirmation),
            CommandSyntax(
                name: "discard",
                summary: "Give up samples: they are never sent, even if an export has them again.",
                details: [
                    "Shows what it would do and asks on the terminal. Deletes the values on this machine. Data",
                    "at the backend stays there. The minutes of steps that `pat-analysis` sends stay here.",
                ],
                operands: "[ID...]", options: filters + confirmation),
            CommandSyntax(
                name: "erase",
                summary: "Delete at the backend what was uploaded.",
                details: [
                    "Shows what it would delete and asks on the terminal. Deletes the uploads of the named",
                    "samples, each as a whole, and checks that the backend no longer knows them. The values",
                    "on this machine stay. Samples that went by an endpoint without a deletion stay at the",
                    "backend; their number is shown. Erased samples are not sent again, unless",
                    "`outbox retry --reason erased` queues them.",
                ],
                operands: "[ID...]",
                options: [
                    OptionSyntax("all", summary: "all uploads"),
                    OptionSyntax("yes", summary: "do not ask"),
                ],
                examples: ["clarity-jobs outbox erase --all"]),
        ],
        runsAlone: true)

    private static let filters = [
        OptionSyntax(
            "in-state", value: "STATE",
            choices: [
                "queued", "sending", "accepted", "confirmed", "stored", "unconfirmed",
                "rejected",
                "set-aside",
            ],
            summary: "only samples in this state"),
        OptionSyntax("type", value: "KIND", summary: "only samples of a kind, such as heart_rate"),
        OptionSyntax(
            "age", value: "SPAN", summary: "only samples measured longer ago, such as 30d"),
        OptionSyntax(
            "reason", value: "WORDS",
            summary:
                "only samples whose reason has these words, or a rule: kind, range, future, doubt"),
    ]

    private static let confirmation = [
        OptionSyntax("all", summary: "all samples, without a filter"),
        OptionSyntax("yes", summary: "do not ask"),
    ]
}
