extension OptionSyntax {
    /// What every command has that only reads.
    static let now = OptionSyntax(
        "now", value: "TIME", summary: "answer as if it were this time, RFC 3339 or local")
}

extension CommandSyntax {
    /// The whole command line of `clarity-jobs`.
    static let program = CommandSyntax(
        name: "clarity-jobs",
        summary: "Keeps a person's health data in step with the CLARITY backend.",
        options: [
            OptionSyntax(
                "config", "c", value: "FILE", summary: "the job file, else ./jobs.yaml and so on"),
            OptionSyntax(
                "state", value: "DIR", summary: "the folder that holds history and health data"),
            OptionSyntax(
                "output", "o", value: "FORM", choices: ["table", "json", "ndjson"],
                summary: "how results are written"),
            OptionSyntax("quiet", "q", summary: "say nothing but faults"),
            OptionSyntax("verbose", "v", summary: "say more"),
            OptionSyntax("help", "h", summary: "show this page"),
            OptionSyntax("version", summary: "show the version"),
        ],
        examples: [
            "clarity-jobs auth login --email you@example.com",
            "clarity-jobs run --due            what is due, once: for cron",
            "clarity-jobs loop                 for systemd",
            "clarity-jobs dry-run JOB          what would be sent, and change nothing",
            "clarity-jobs history show 42      why a run went as it did",
        ],
        commands: [
            CommandSyntax(
                name: "run", summary: "Runs jobs now, or all that is due.",
                details: [
                    "A named job does not wait for the backoff after a failure or for `earliest_begin`. It",
                    "waits for its constraints, a pause and a server's Retry-After, and the status is then",
                    "75; --force overrides all three.",
                ],
                operands: "[JOB...]",
                options: [
                    OptionSyntax(
                        "due", summary: "run everything that is due; silent when all went well"),
                    OptionSyntax("force", summary: "run whatever the constraints say"),
                ],
                examples: [
                    "clarity-jobs run --due",
                    "clarity-jobs run com.clarity.healthkit.upload --force",
                ]),
            CommandSyntax(
                name: "loop",
                summary: "Runs jobs as they fall due; SIGHUP reloads the job file, SIGTERM drains."),
            CommandSyntax(
                name: "dry-run",
                summary: "Shows what a job would send or remove, and changes nothing.",
                operands: "JOB", options: [.now]),
            .status,
            CommandSyntax(
                name: "list", summary: "Lists the jobs, what comes next and what they wait for.",
                options: [.now]),
            CommandSyntax(
                name: "next", summary: "Lists the coming occurrences of jobs, soonest first.",
                operands: "[JOB...]",
                options: [
                    OptionSyntax("limit", "n", value: "N", summary: "how many, 20 at first"),
                    OptionSyntax(
                        "around-dst",
                        summary: "only those within 36 h of a change of the clock in 400 days"),
                    .now,
                ],
                examples: [
                    "clarity-jobs next com.clarity.insights -n 5",
                    "clarity-jobs next --around-dst --now 2026-03-01",
                ]),
            .explain,
            .simulate,
            CommandSyntax(
                name: "history", summary: "Lists past and present runs, newest first.",
                operands: "[JOB]",
                options: [
                    OptionSyntax("limit", "n", value: "N", summary: "how many runs, 20 at first"),
                    OptionSyntax("failed", summary: "only runs that failed for good"),
                    OptionSyntax("deferred", summary: "only runs that something held back"),
                    OptionSyntax(
                        "since", value: "TIME",
                        summary: "only runs that ended at that time or later"),
                    OptionSyntax(
                        "until", value: "TIME",
                        summary: "only runs that were due before that time"),
                    .now,
                ],
                examples: [
                    "clarity-jobs history com.clarity.refresh -n 5",
                    "clarity-jobs history --failed --since 2026-11-20",
                    "clarity-jobs history show 42",
                ],
                commands: [
                    CommandSyntax(
                        name: "show",
                        summary: "Shows one run with its attempts and all that held it back.",
                        operands: "RUN")
                ]),
            CommandSyntax(
                name: "pause", summary: "Lets jobs start nothing for a while.",
                operands: "[JOB...]",
                options: [
                    OptionSyntax("all", summary: "every job of the job file"),
                    OptionSyntax(
                        "until", value: "TIME", summary: "when the pause is over, else at `resume`"),
                    OptionSyntax("for", value: "SPAN", summary: "how long it lasts, such as 7d"),
                    OptionSyntax("reason", value: "TEXT", summary: "why, for who asks later"),
                ],
                examples: [
                    "clarity-jobs pause com.clarity.healthkit.upload --for 7d --reason 'abroad'"
                ]),
            CommandSyntax(
                name: "resume", summary: "Lets paused jobs go on.", operands: "[JOB...]",
                options: [OptionSyntax("all", summary: "every job of the job file")]),
            CommandSyntax(
                name: "backfill",
                summary: "Asks for a job's occurrences of a past range, each once.",
                details: [
                    "Each gets a run of its own, which `loop` or `run --due` starts as its constraints",
                    "allow; CLARITY_SCHEDULED_FOR tells a command which one. What succeeded or waits already",
                    "is left out. `start_within` and `catch_up` do not apply: somebody asked.",
                ],
                operands: "JOB",
                options: [
                    OptionSyntax("from", value: "TIME", summary: "the first time that counts"),
                    OptionSyntax(
                        "to", value: "TIME", summary: "the last time that counts, now without it"),
                ],
                examples: [
                    "clarity-jobs backfill com.example.report --from 2026-11-01 --to 2026-11-08"
                ]),
            CommandSyntax(
                name: "cancel",
                summary: "Ends unfinished runs for good, whichever process has them.",
                operands: "RUN|JOB..."),
            CommandSyntax(
                name: "retry",
                summary: "Has a run that failed, was cancelled or expired done again.",
                operands: "RUN|JOB..."),
            .audit,
            .doctor,
            CommandSyntax(
                name: "validate",
                summary: "Checks the job file and reports every fault in it.",
                details: [
                    "The exit status is 65 when there is a fault. A setting that is well formed and can never",
                    "take effect is a warning, with status 0. --output json and ndjson list both.",
                ], options: [.now]),
            CommandSyntax(
                name: "trace", summary: "Records the machine's conditions over time.",
                commands: [
                    CommandSyntax(
                        name: "record",
                        summary:
                            "Writes the machine's conditions as they change, one line of JSON each.",
                        details: [
                            "The first line is whole, the others have what changed. It ends at SIGINT,",
                            "SIGTERM or after --for. Free storage counts as changed by 5 %, at least 1 MiB,",
                            "pressure by 10 points; what no event announces is looked at once a minute.",
                        ],
                        options: [
                            OptionSyntax(
                                "file", value: "FILE",
                                summary: "a new file, open to you alone; `-` is standard output"),
                            OptionSyntax(
                                "for", value: "SPAN", summary: "end after this span, such as 12h"),
                            OptionSyntax("force", summary: "replace a file that exists"),
                        ],
                        examples: ["clarity-jobs trace record --file week.ndjson --for 7d"])
                ]),
            .importing, .sources, .summary, .metrics, .insights, .profile, .archive, .outbox, .auth,
            .key, .backup, .restore,
            CommandSyntax(
                name: "sandbox", summary: "Starts a stand-in for the backend, on this machine.",
                operands: "[OPTION...]",
                examples: ["clarity-jobs sandbox --listen 127.0.0.1:8787 --data DIR"],
                passesArgumentsOn: true),
        ])
}
