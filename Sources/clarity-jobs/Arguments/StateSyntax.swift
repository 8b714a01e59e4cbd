// The commands for a state in PostgreSQL.
extension CommandSyntax {
    private static let apply = [
        OptionSyntax("apply", summary: "run the statements too, in one transaction"),
        OptionSyntax(
            "owner", value: "ROLE", summary: "with --apply: log in as this role, not as the URL's"),
    ]

    static let store = CommandSyntax(
        name: "store",
        summary: "Prepare a PostgreSQL database for the history and the health data.",
        commands: [
            CommandSyntax(
                name: "init",
                summary: "Show the statements that make the tables and the roles.",
                details: [
                    "The database is the one of `store: { url: ... }` in the job file. The statements are for",
                    "the role that owns it and may create roles. Each account gets a role of its own, which",
                    "sees the rows of that account alone; its password follows from the account's master key,",
                    "and the database gets only what a login is checked by. A master key is made where there",
                    "is none yet.",
                ],
                options: apply,
                examples: [
                    "clarity-jobs store init | sudo -u postgres psql -v ON_ERROR_STOP=1 clarity",
                    "clarity-jobs store init --apply --owner postgres",
                ]),
            CommandSyntax(
                name: "migrate",
                summary: "Show the statements that bring an older database up to date.",
                details: [
                    "Run it after an update of this program, after a change of master keys, and when accounts",
                    "were added to the job file: each account needs a role.",
                ],
                options: apply),
            CommandSyntax(
                name: "copy",
                summary: "Take the state from the files into the database, or back.",
                details: [
                    "Stop all loops first. Before a copy counts, all rows of both places are compared. The old",
                    "place stays as it is, but for the login, which moves: each renewal of a login makes the",
                    "one before worthless. A place that has data of its own is left as it is. Run the command",
                    "again if it was cut short: it does the rest. Both places use the same master keys.",
                ],
                options: [
                    OptionSyntax(
                        "to", value: "PLACE", summary: "the new place: `database` or `files`")
                ],
                examples: ["clarity-jobs store copy --to database"]),
            CommandSyntax(
                name: "status",
                summary: "Show the database's versions, the loops, and accounts without a role."),
        ])
}

// The commands for backups of the state directory.
extension CommandSyntax {
    static let backup = CommandSyntax(
        name: "backup", summary: "Back up history and health data, while other commands use them.",
        details: [
            "Writes a folder named after the time, readable by you only, into `backups` of the state",
            "directory or into DIR. Values stay encrypted. The master key is not part of a backup: keep a",
            "copy of it elsewhere. clarity-jobs makes a backup by itself before it changes a file's schema.",
            "With --all, backs up the history and then the data of each account: in the account's folder,",
            "or in DIR/ID.",
        ],
        operands: "[DIR]",
        options: [
            .all,
            OptionSyntax(
                "keep", value: "N",
                summary: "number of your backups to keep there; default 7"),
        ],
        examples: [
            "clarity-jobs backup",
            "clarity-jobs backup /mnt/nas/clarity --keep 30",
            "clarity-jobs backup /mnt/nas/clarity --all",
            "clarity-jobs backup list",
        ],
        commands: [
            CommandSyntax(
                name: "list", summary: "List backups, newest first.", operands: "[DIR]")
        ],
        runsAlone: true)
    static let restore = CommandSyntax(
        name: "restore", summary: "Restore damaged files, or the whole state from a named backup.",
        details: [
            "Without BACKUP (a name or a folder), restores each damaged or missing file from the newest",
            "intact backup that has it. With BACKUP, restores everything from it. Existing files are moved",
            "to `damaged-...` beside them, never deleted. Stop the loop first. If a restore is interrupted,",
            "run the same command again; until then other commands refuse to work. Samples that may have",
            "been sent since the backup are sent again if the backend deduplicates, and are otherwise in",
            "doubt.",
        ],
        operands: "[BACKUP]",
        options: [OptionSyntax("dry-run", summary: "check everything and change nothing")],
        examples: [
            "clarity-jobs restore",
            "clarity-jobs restore 20261120T060000Z --dry-run",
            "clarity-jobs restore /mnt/nas/clarity/20261120T060000Z",
        ])
}

extension CommandSyntax {
    static let status = CommandSyntax(
        name: "status",
        summary: "Show whether every job did its work and your data is up to date, and why not.",
        details: [
            "A job whose last run failed comes first, with its reason and its last success.",
            "",
            "Compares each freshness goal with the newest data. Goals come from `fresh:` in the job file.",
            "Data that has arrived once and is not named there has a default goal: three times the",
            "interval of its job, and at least 2 days. A default goal holds while the source has nothing",
            "newer. For a missed goal, `status` says whether the source has nothing newer, which job holds",
            "newer data back, whether the backend has not confirmed it, or whether you have to decide.",
            "",
            "The exit status is 1 if the last run of a job failed, a job is overdue or waits for a login, or",
            "a goal is missed. A job is overdue if no scheduler has looked at it for 15 minutes after its",
            "time. --quiet shows only these, for a monitor. Sends nothing.",
            "The last lines name the state directory, the job file, and the loop that starts the jobs.",
            "",
            "With JOB, shows and judges this job alone; `explain JOB` says why it waits.",
            "",
            "--all shows a line for each account: whether the goals of `fresh:` hold, until or since when,",
            "and why not. It reads only the history, where each attempt leaves times and counts, so it needs",
            "no key. The exit status is 1 unless every account is fresh and none has an overdue job.",
        ],
        operands: "[JOB]",
        options: [
            OptionSyntax("all", summary: "show one line for each account, from the history alone"),
            .now,
        ],
        examples: [
            "clarity-jobs status",
            "clarity-jobs status --all --quiet",
            "clarity-jobs status --quiet || mail -s 'a job needs you' you@example.com",
        ])

    static let notices = CommandSyntax(
        name: "notices", summary: "Show what was wrong, and whether you were told.",
        options: [noticeLimit],
        commands: [
            CommandSyntax(
                name: "list", summary: "List notices, newest first, as `notices` alone does.",
                options: [noticeLimit])
        ],
        runsAlone: true)

    private static let noticeLimit = OptionSyntax(
        "limit", "n", value: "N", summary: "number of notices; default 20")

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

// The web pages, and the ways into them.
extension CommandSyntax {
    static let serve = CommandSyntax(
        name: "serve", summary: "Serve web pages with your data and your jobs, until stopped.",
        details: [
            "The pages show what other commands show, as charts. Open them with the link that this",
            "command prints on a terminal, or that `serve link` makes. --lan serves your local network",
            "too, with TLS, and shows the link as a QR code for a phone. Any other way from another",
            "machine needs TLS and a password. If the job file has accounts, `serve link` opens the",
            "states of all accounts, and `serve link --account ID` the data of one, for its wearer.",
        ],
        options: [
            OptionSyntax(
                "listen", value: "HOST:PORT",
                summary: "IPv4 address and port; default 127.0.0.1:8799"),
            OptionSyntax("read-only", summary: "show only: no page changes anything"),
            OptionSyntax(
                "lan",
                summary: "serve the local network too, with a certificate that this makes"),
            .certificate,
            // Not `key`: its variable would be that of the master key.
            .privateKey,
            OptionSyntax(
                "behind", value: "URL",
                summary: "address under which a proxy with TLS serves the pages"),
        ],
        examples: [
            "clarity-jobs serve",
            "clarity-jobs serve --lan",
            "clarity-jobs serve link",
            "clarity-jobs serve link --account anna",
            "clarity-jobs serve --behind https://health.example",
        ],
        commands: [
            CommandSyntax(
                name: "link", summary: "Make a link that opens the pages once, within 10 minutes.",
                details: ["The link that was made before stops working."]),
            CommandSyntax(
                name: "password", summary: "Set the password for browsers on other machines.",
                details: [
                    "Asks for it twice on the terminal, or reads it from standard input. Ends the",
                    "sessions of its account.",
                ],
                options: [
                    .passwordInput
                ]),
            CommandSyntax(
                name: "token", summary: "Manage the tokens of programs that may run jobs.",
                details: [
                    "A program asks for a run by `POST /api/v1/run/JOB`, as docs/pages.md shows."
                ],
                commands: [
                    CommandSyntax(
                        name: "add",
                        summary: "Add a token that may run some jobs, and show it once.",
                        operands: "NAME",
                        options: [
                            OptionSyntax(
                                "may", value: "run:JOB,JOB",
                                summary: "the jobs that it may run, and nothing else")
                        ],
                        examples: ["clarity-jobs serve token add door --may run:backup"]),
                    CommandSyntax(name: "list", summary: "List the tokens and the jobs of each."),
                    CommandSyntax(
                        name: "remove", summary: "Remove a token, which stops working at once.",
                        operands: "NAME"),
                ]),
            CommandSyntax(
                name: "sessions", summary: "List or end the sessions of browsers.",
                commands: [
                    CommandSyntax(
                        name: "list",
                        summary: "List the sessions: since when, last used, from where."),
                    CommandSyntax(
                        name: "end", summary: "End sessions at once.",
                        details: [
                            "The audit log of the account, or of the person without accounts, records it."
                        ],
                        operands: "[SESSION...]",
                        options: [
                            OptionSyntax("all", summary: "end every session"),
                            OptionSyntax(
                                "except", value: "SESSION",
                                summary: "with --all: a session that goes on"),
                        ],
                        examples: [
                            "clarity-jobs serve sessions end 1a2b3c4d",
                            "clarity-jobs serve sessions end --all --except 1a2b3c4d",
                            "clarity-jobs serve sessions end --all --account anna",
                        ]),
                ]),
        ],
        runsAlone: true)
}

extension CommandSyntax {
    static let setUp = CommandSyntax(
        name: "init", summary: "Set up the first jobs: ask, check, read, send.",
        details: [
            "Asks what you want: keep the data of an export on this machine and look at it, send it to a",
            "CLARITY server, or run programs of your own. Asks what that takes and checks each answer.",
            "Then it reads the export, logs in, writes a job file, sends, and installs what starts the",
            "jobs. It overwrites nothing. If it is interrupted, the next `init` goes on with the answers.",
            "Each answer can also be an option; with --yes it asks nothing. --archive-only asks nothing",
            "either and needs no server: the data stays on this machine. Run by the user of an installed",
            "service, it sets that service up: sudo -u clarity-jobs clarity-jobs init",
        ],
        options: [
            OptionSyntax(
                "archive-only", value: "EXPORT",
                summary: "ask nothing: read this export, keep it here, send it nowhere"),
            OptionSyntax("serve", summary: "with --archive-only: then open the web pages"),
            OptionSyntax(
                "listen", value: "HOST:PORT", summary: "where --serve opens them; as in `serve`"),
            OptionSyntax(
                "goal", value: "WORD", choices: SetupAnswers.Goal.allCases.map(\.rawValue),
                summary: "what you want; with --yes or --backend: send"),
            OptionSyntax("backend", value: "URL", summary: "address of the CLARITY server's API"),
            .email,
            OptionSyntax(
                "account", value: "WORD", choices: SetupAnswers.Account.allCases.map(\.rawValue),
                summary: "whether you have an account; with no, one is created first"),
            OptionSyntax(
                "first-name", value: "NAME", summary: "your first name, for a new account"),
            OptionSyntax("last-name", value: "NAME", summary: "your last name, for a new account"),
            OptionSyntax(
                "accept-terms", summary: "accept the backend's terms, for a new account"),
            OptionSyntax("password-stdin", summary: "read the password from the standard input"),
            OptionSyntax(
                "source", value: "KIND", choices: SetupAnswers.Source.allCases.map(\.rawValue),
                summary: "how samples get here"),
            OptionSyntax("path", value: "FILE", summary: "the file or folder with the samples"),
            OptionSyntax("time-zone", value: "ZONE", summary: "time zone of the days"),
            OptionSyntax(
                "hours", value: "HOURS", choices: SetupAnswers.Hours.allCases.map(\.rawValue),
                summary: "when to upload"),
            OptionSyntax(
                "start", value: "STARTER", choices: SetupAnswers.Starter.allCases.map(\.rawValue),
                summary: "what starts the jobs"),
            OptionSyntax(
                "command", value: "TEXT", summary: "your first program, as a shell reads it"),
            OptionSyntax(
                "schedule", value: "TIME", summary: "when it runs, as in the job file"),
            OptionSyntax("no-sync", summary: "read the export, but send nothing yet"),
            OptionSyntax("yes", summary: "ask nothing: use the options and the usual answers"),
        ],
        examples: [
            "clarity-jobs init",
            "clarity-jobs init --archive-only ~/Downloads/export.zip --serve",
            "clarity-jobs init --yes --backend https://a.example/api/v1 --email a@b.example",
        ])
}

extension CommandSyntax {
    static let demo = CommandSyntax(
        name: "demo", summary: "Show what this program does, on invented data.",
        details: [
            "Invents the export of a phone, reads it, shows its summary, sends it to a stand-in for a",
            "server, and opens the web pages, all on this machine. Needs no job file, no server and no",
            "network. Ctrl-C ends it and removes its data.",
        ],
        options: [
            OptionSyntax(
                "listen", value: "HOST:PORT", summary: "where the pages are; as in `serve`")
        ],
        examples: ["clarity-jobs demo"])

    static let uninstall = CommandSyntax(
        name: "uninstall", summary: "Remove what `init` installed; data and job file stay.",
        details: [
            "Stops and removes what starts the jobs of the job file: the line in your crontab, or the",
            "service of your own systemd. Says where the job file, the data and the key are, and how to",
            "delete them. The programs themselves are the package's.",
        ],
        examples: ["clarity-jobs uninstall"])
}

// The commands that make a job file of what another scheduler has.
extension CommandSyntax {
    static let importJobs = CommandSyntax(
        name: "import-jobs",
        summary: "Print a job file that does what a crontab or systemd timers do.",
        details: [
            "Changes nothing on this machine. What a job file cannot say is a comment with the reason."
        ],
        examples: [
            "clarity-jobs import-jobs crontab > jobs.yaml",
            "clarity-jobs import-jobs systemd backup.timer > jobs.yaml",
        ],
        commands: [
            CommandSyntax(
                name: "crontab", summary: "Print the job file of a crontab.",
                details: [
                    "Without FILE, of your own, as `crontab -l` shows it; `-` is the standard input. Keeps",
                    "the times, the time zone, the variables and `%`. The comment above a line names its",
                    "job. Of a file in which each line names a user, it keeps the lines of the user who runs",
                    "this command.",
                ],
                operands: "[FILE]",
                options: [
                    OptionSyntax(
                        "system",
                        summary: "each line names a user, as in /etc/crontab; implied for /etc")
                ],
                examples: [
                    "clarity-jobs import-jobs crontab",
                    "sudo clarity-jobs import-jobs crontab /etc/crontab",
                    "crontab -l -u ben | clarity-jobs import-jobs crontab -",
                ]),
            CommandSyntax(
                name: "systemd", summary: "Print the job file of systemd timers.",
                details: [
                    "TIMER is a timer's name, or the path of its file; its service is found beside it or among",
                    "the units of this machine, or is another FILE. Drop-ins count.",
                ],
                operands: "TIMER|FILE...",
                options: [
                    OptionSyntax("user", summary: "units of your own service manager")
                ],
                examples: [
                    "clarity-jobs import-jobs systemd backup.timer fstrim.timer",
                    "clarity-jobs import-jobs systemd ./backup.timer ./backup.service",
                ]),
        ])
}
