extension CommandSyntax {
    static let status = CommandSyntax(
        name: "status",
        summary: "Show whether your data is up to date, and why not.",
        details: [
            "Compares each freshness goal with the newest data. Goals come from `fresh:` in the job file.",
            "Data that has arrived once and is not named there has a default goal: three times the",
            "interval of its job, and at least 2 days. A default goal holds while the source has nothing",
            "newer. For a missed goal, `status` says whether the source has nothing newer, which job holds",
            "newer data back, whether the backend has not confirmed it, or whether you have to decide.",
            "",
            "The exit status is 1 if a goal is missed or a job is overdue. A job is overdue if no scheduler",
            "has looked at it for 15 minutes after its time. --quiet shows only these. Sends nothing.",
            "The last lines name the state directory, the job file, and the loop that starts the jobs.",
            "",
            "--all shows a line for each account: whether the goals of `fresh:` hold, until or since when,",
            "and why not. It reads only the history, where each attempt leaves times and counts, so it needs",
            "no key. The exit status is 1 unless every account is fresh and none has an overdue job.",
        ],
        options: [
            OptionSyntax("all", summary: "show one line for each account, from the history alone"),
            .now,
        ],
        examples: [
            "clarity-jobs status",
            "clarity-jobs status --all --quiet",
            "clarity-jobs status --quiet || mail -s 'health data is stale' you@example.com",
        ])

    static let notices = CommandSyntax(
        name: "notices", summary: "Show what was wrong, and whether you were told.",
        commands: [
            CommandSyntax(
                name: "list", summary: "List notices, newest first.",
                options: [
                    OptionSyntax("limit", "n", value: "N", summary: "number of notices; default 20")
                ])
        ])

    static let notify = CommandSyntax(
        name: "notify", summary: "Try the targets of notices, or tell them of a failed service.",
        commands: [
            CommandSyntax(
                name: "test",
                summary: "Send a test message to every target of `notify`, or to one.",
                details: [
                    "Says for each target whether it took the message. Ignores `quiet` and `at_most`."
                ],
                operands: "[TARGET]"),
            CommandSyntax(
                name: "failed",
                summary: "Record that a service failed, and tell the targets of `notify`.",
                details: [
                    "systemd calls it, by `OnFailure=` in the units. Without UNIT, MONITOR_UNIT names the",
                    "service. A service that failed before, and did not run since, is told only once. If",
                    "the databases cannot be used, it tells every target at once.",
                ],
                operands: "[UNIT]"),
        ])
}
