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
