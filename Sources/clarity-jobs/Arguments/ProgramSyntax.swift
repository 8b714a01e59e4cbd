extension OptionSyntax {
    /// The option of every command that only reads.
    static let now = OptionSyntax(
        "now", value: "TIME", summary: "answer as if it were this time (RFC 3339 or local)")
    /// A value of a parameter for a run.
    static let set = OptionSyntax(
        "set", value: "NAME=VALUE",
        summary: "give a parameter of the jobs a value; may be given several times")
}

extension CommandSyntax {
    /// The complete command line of `clarity-jobs`.
    static let program = CommandSyntax(
        name: "clarity-jobs",
        summary:
            "Run jobs when network, power, idleness and storage allow, and bring health data where "
            + "it belongs.",
        options: [
            OptionSyntax(
                "config", "c", value: "FILE",
                summary: "the job file; default ./jobs.yaml and others"),
            OptionSyntax(
                "state", value: "DIR", summary: "the directory with history and health data"),
            OptionSyntax(
                "account", value: "ID", summary: "one account of a job file that has several"),
            OptionSyntax(
                "output", "o", value: "FORM", choices: ["table", "json", "ndjson"],
                summary: "format of the results"),
            OptionSyntax("quiet", "q", summary: "print errors only"),
            OptionSyntax("verbose", "v", summary: "print more"),
            OptionSyntax("help", "h", summary: "show this help"),
            OptionSyntax("version", summary: "show the version"),
        ],
        examples: [
            "clarity-jobs init                 set up the first jobs",
            "clarity-jobs status               what failed, and what waits for you",
            "clarity-jobs run --due            run what is due, once; for cron",
            "clarity-jobs loop                 run jobs as they fall due; for systemd",
            "clarity-jobs explain JOB          why a job runs now or does not",
            "clarity-jobs logs JOB             what its program wrote",
        ],
        commands: [
            .demo, .setUp, .uninstall,
            CommandSyntax(
                name: "run", summary: "Run jobs now, or everything that is due.",
                details: [
                    "A job that you name ignores its backoff after a failure, and `earliest_begin`. It waits",
                    "for its constraints, for a pause, and until a server's Retry-After has passed. If it",
                    "waits, the exit status is 75. --force overrides all three. --set gives a parameter of the",
                    "job (`params` in the job file) a value for this run.",
                ],
                operands: "[JOB...]",
                options: [
                    OptionSyntax(
                        "due",
                        summary: "run everything that is due; silent unless a run fails"),
                    OptionSyntax("force", summary: "ignore constraints, pauses and Retry-After"),
                    OptionSyntax(
                        "ask", summary: "let the loop start the runs, and return at once"),
                    .set,
                ],
                examples: [
                    "clarity-jobs run --due",
                    "clarity-jobs run com.clarity.healthkit.upload --force",
                    "clarity-jobs run backup --set TAG=before-update",
                ]),
            CommandSyntax(
                name: "loop",
                summary: "Run jobs as they fall due, until stopped.",
                details: [
                    "An edit of the job file applies within a second. A job with a fault is held, and the others",
                    "run; a fault of the rest of the file is reported and leaves the jobs as they were. SIGHUP",
                    "reloads the file too. SIGTERM ends the loop: running attempts are asked to stop, with the",
                    "time to end that their kind has, and the next scheduler goes on with their runs.",
                ]),
            CommandSyntax(
                name: "exporter", summary: "Serve metrics to Prometheus, until stopped.",
                details: [
                    "The metrics are at /metrics. They contain no health value, account or path."
                ],
                options: [
                    OptionSyntax(
                        "listen", value: "HOST:PORT",
                        summary: "IPv4 address and port; default 127.0.0.1:9187")
                ],
                examples: ["clarity-jobs exporter --listen 127.0.0.1:9187"]),
            .receive, .serve,
            CommandSyntax(
                name: "dry-run",
                summary: "Show what a job would send or delete, and change nothing.",
                operands: "JOB", options: [.now, .set]),
            .status,
            CommandSyntax(
                name: "list", summary: "List jobs, when each runs next and what it waits for.",
                options: [.now]),
            CommandSyntax(
                name: "next", summary: "List the next occurrences of jobs, soonest first.",
                details: [
                    "What is due already is not among them: `list` shows it. The job `notify`, which the job",
                    "file implies, is left out.",
                ],
                operands: "[JOB...]",
                options: [
                    OptionSyntax(
                        "limit", "n", value: "N", summary: "number of occurrences; default 20"),
                    OptionSyntax(
                        "around-dst",
                        summary: "only occurrences within 36 h of a clock change, for 400 days"),
                    .now,
                ],
                examples: [
                    "clarity-jobs next com.clarity.insights -n 5",
                    "clarity-jobs next --around-dst --now 2026-03-01",
                ]),
            CommandSyntax(
                name: "tonight",
                summary: "Show what runs until tomorrow noon, and what it will wait for.",
                details: [
                    "A line for each job: when it starts, how often it is due, and which constraints do not",
                    "hold: windows at that time, all others now. Before 6 in the morning, until noon today.",
                ],
                options: [.now]),
            .explain,
            .simulate,
            CommandSyntax(
                name: "history", summary: "List runs, newest first.",
                details: [
                    "TIME is `2026-11-20 06:00`, a date, a time of day such as `03:30`, `today` or `yesterday` with",
                    "one or without, or a span before now such as `1d`; by the clock of this machine.",
                ],
                operands: "[JOB]",
                options: [
                    OptionSyntax("limit", "n", value: "N", summary: "number of runs; default 20"),
                    OptionSyntax(
                        "all",
                        summary: "also runs of `notify` and `processing-status` that did nothing"),
                    OptionSyntax("failed", summary: "only runs that failed for good"),
                    OptionSyntax("deferred", summary: "only runs that had to wait"),
                    OptionSyntax(
                        "since", value: "TIME",
                        summary: "only runs that ended at TIME or later"),
                    OptionSyntax(
                        "until", value: "TIME",
                        summary: "only runs that were due before TIME"),
                    .now,
                ],
                examples: [
                    "clarity-jobs history com.clarity.refresh -n 5",
                    "clarity-jobs history --failed --since yesterday",
                    "clarity-jobs history show 42",
                    "clarity-jobs history missed --since 2026-11-20",
                ],
                commands: [
                    CommandSyntax(
                        name: "missed",
                        summary: "List occurrences that started no run of their own, latest first.",
                        details: [
                            "Says what became of each: merged into a later run, skipped, expired, or pending, such as",
                            "those since the last scheduler ended. Occurrences in a row with the same end are one line.",
                            "A run that begins within 15 minutes has missed nothing.",
                        ],
                        operands: "[JOB]",
                        options: [
                            OptionSyntax(
                                "limit", "n", value: "N", summary: "number of lines; default 20"),
                            OptionSyntax(
                                "since", value: "TIME",
                                summary: "only occurrences at TIME or later"),
                            .now,
                        ]),
                    CommandSyntax(
                        name: "waits",
                        summary: "Sum up what jobs waited for, and how many runs that cost.",
                        details: [
                            "For each job and reason: how long it held the job back, of all the time that the job waited,",
                            "and about how many runs there would have been without it. This counts the occurrences that",
                            "were merged into a run while nothing else held that run back.",
                        ],
                        operands: "[JOB]",
                        options: [
                            OptionSyntax(
                                "since", value: "TIME", summary: "start of the time; default 30d"),
                            .now,
                        ],
                        examples: [
                            "clarity-jobs history waits com.clarity.healthkit.upload --since 7d"
                        ]),
                    CommandSyntax(
                        name: "show",
                        summary: "Show one run, its attempts and everything it waited for.",
                        details: ["With a job, its last run."],
                        operands: "RUN|JOB", options: [.now]),
                ],
                runsAlone: true),
            CommandSyntax(
                name: "logs", summary: "Show what the program of a job's last run wrote.",
                details: [
                    "Of a job of kind `command`: the output that its attempts left, which `output_limit` bounds."
                ],
                operands: "JOB|RUN",
                options: [
                    OptionSyntax("grep", value: "TEXT", summary: "only lines that contain TEXT"),
                    OptionSyntax(
                        "follow", "f", summary: "go on until the run has ended"),
                    .now,
                ],
                examples: ["clarity-jobs logs nightly-backup", "clarity-jobs logs 42 --grep Fatal"]),
            CommandSyntax(
                name: "pause", summary: "Pause jobs.",
                operands: "[JOB...]",
                options: [
                    OptionSyntax("all", summary: "all jobs of the job file"),
                    OptionSyntax(
                        "until", value: "TIME",
                        summary: "end of the pause, such as 07:00, tomorrow or 2026-11-20 06:00; "
                            + "default: `resume`"),
                    OptionSyntax("for", value: "SPAN", summary: "length of the pause, such as 7d"),
                    OptionSyntax(
                        "reason", value: "TEXT", summary: "a note that `explain` shows"),
                ],
                examples: [
                    "clarity-jobs pause com.clarity.healthkit.upload --for 7d --reason 'abroad'"
                ]),
            CommandSyntax(
                name: "resume", summary: "Resume paused jobs.", operands: "[JOB...]",
                options: [OptionSyntax("all", summary: "all jobs of the job file")]),
            CommandSyntax(
                name: "backfill",
                summary: "Run a job once for each occurrence in a past range.",
                details: [
                    "Each occurrence gets its own run, which `loop` or `run --due` starts when its",
                    "constraints hold. A command finds its occurrence in CLARITY_SCHEDULED_FOR. Occurrences",
                    "that succeeded or already wait are left out. `start_within` and `catch_up` do not apply.",
                ],
                operands: "JOB",
                options: [
                    OptionSyntax("from", value: "TIME", summary: "start of the range"),
                    OptionSyntax(
                        "to", value: "TIME", summary: "end of the range; default: now"),
                ],
                examples: [
                    "clarity-jobs backfill com.example.report --from 2026-11-01 --to 2026-11-08"
                ]),
            CommandSyntax(
                name: "cancel",
                summary: "Cancel unfinished runs, in whichever process they run.",
                operands: "RUN|JOB..."),
            CommandSyntax(
                name: "retry",
                summary: "Retry runs that failed, were cancelled or expired.",
                operands: "RUN|JOB..."),
            .audit,
            .doctor,
            CommandSyntax(
                name: "validate",
                summary: "Check the job file and report every error in it.",
                details: [
                    "The exit status is 65 if there is an error. A setting that is valid but can never take",
                    "effect is a warning, with exit status 0. --output json and ndjson list both.",
                ], options: [.now]),
            CommandSyntax(
                name: "trace", summary: "Record the machine's conditions over time.",
                commands: [
                    CommandSyntax(
                        name: "record",
                        summary:
                            "Write the machine's conditions as they change, one line of JSON each.",
                        details: [
                            "The first line has all conditions, each other line what changed. Recording ends",
                            "at SIGINT, at SIGTERM or after --for. Free space is recorded when it changes by",
                            "5 % and at least 1 MiB, pressure when it changes by 10 points. Conditions without",
                            "change events are polled once a minute.",
                        ],
                        options: [
                            OptionSyntax(
                                "file", value: "FILE",
                                summary: "a new file, readable by you only; `-` is standard output"),
                            OptionSyntax(
                                "for", value: "SPAN", summary: "stop after this time, such as 12h"),
                            OptionSyntax("force", summary: "overwrite an existing file"),
                        ],
                        examples: ["clarity-jobs trace record --file week.ndjson --for 7d"])
                ]),
            .notices, .notify, .importing, .importJobs, .exportData, .sources, .summary, .metrics,
            .records,
            .nights, .workouts, .activity, .diary, .electrocardiograms, .trends, .year, .assistant,
            .report, .insights, .analyses, .profile, .archive, .outbox, .auth, .accounts, .key,
            .store,
            .backup, .restore, .fhir,
            CommandSyntax(
                name: "completion", summary: "Print the completion script of a shell.",
                details: [
                    "The script asks this program what may come next: commands, options, the jobs of the",
                    "job file, the last runs, types of metrics.",
                ],
                operands: "SHELL",
                examples: [
                    "source <(clarity-jobs completion bash)",
                    "clarity-jobs completion zsh > ~/.zfunc/_clarity-jobs",
                    "clarity-jobs completion fish > ~/.config/fish/completions/clarity-jobs.fish",
                ],
                commands: [
                    CommandSyntax(
                        name: "words", summary: "Print what the last word may be, for a script.",
                        operands: "[WORD...]", passesArgumentsOn: true)
                ]),
            CommandSyntax(
                name: "manual", summary: "List the pages of the manual, or print one for man(1).",
                operands: "[PAGE]",
                examples: [
                    "clarity-jobs manual",
                    "clarity-jobs manual clarity-jobs.yaml | man -l -",
                ]),
            CommandSyntax(
                name: "schema", summary: "Print the JSON Schema of job files, for editors.",
                examples: ["clarity-jobs schema > ~/.config/clarity-jobs/jobs.schema.json"],
                commands: [
                    CommandSyntax(
                        name: "job-file", summary: "Print the JSON Schema of job files."),
                    CommandSyntax(
                        name: "results",
                        summary: "Print the JSON Schema of what commands write as JSON."),
                    CommandSyntax(
                        name: "api",
                        summary: "Print the OpenAPI description of what `serve` answers."),
                ],
                runsAlone: true),
            CommandSyntax(
                name: "sandbox",
                summary: "Start a stand-in for the backend, or a FHIR server, on this machine.",
                examples: [
                    "clarity-jobs sandbox --listen 127.0.0.1:8787 --data DIR",
                    "clarity-jobs sandbox --listen 127.0.0.1:8787 --data DIR --fhir hapi",
                    "clarity-jobs sandbox --help",
                ],
                passesArgumentsOn: true),
        ])
}
