// The commands for the master key and the audit log.
extension CommandSyntax {
    static let key = CommandSyntax(
        name: "key", summary: "Change the master key, or show where it is.",
        commands: [
            CommandSyntax(
                name: "rotate",
                summary: "Encrypt all health data with a new master key.",
                details: [
                    "If the key is in the state directory, the command makes a new one and replaces it. If it",
                    "comes from a credential or a variable, make the new key yourself (64 hex digits,",
                    "`openssl rand -hex 32`), name it with an option, and replace the old key after this",
                    "command and before any other. An account with a given key has a key of its own, which",
                    "the given one wraps: without an option, the command replaces that one alone.",
                    "Stop the loop first. If a rotation is interrupted, run the",
                    "same command again; until then other commands refuse to work.",
                ],
                options: [
                    OptionSyntax(
                        "new-key-file", value: "FILE", summary: "file with the new key"),
                    OptionSyntax(
                        "new-key-variable", value: "NAME",
                        summary: "environment variable with the new key"),
                ],
                examples: [
                    "clarity-jobs key rotate",
                    "clarity-jobs key rotate --new-key-file /run/keys/new.key",
                ]),
            CommandSyntax(
                name: "status",
                summary: "Show where the master key is and how old it is; never the key."),
        ])

    static let audit = CommandSyntax(
        name: "audit",
        summary:
            "Check that nothing in history, outbox or archive is missing, duplicated or stuck.",
        details: [
            "--repair adds up the days of the archive and counts packed samples anew where that is wrong,",
            "and reads every source again whose records are damaged. Where rows contradict the counts of",
            "each type and month, which only the master key can make, it keeps the rows as they are and",
            "records that in the audit log. Nothing else is changed.",
        ],
        options: [
            .all,
            .now,
            OptionSyntax(
                "repair",
                summary:
                    "first count the archive and packed samples anew, and read damaged records again"
            ),
        ],
        commands: [
            CommandSyntax(
                name: "log",
                summary:
                    "Show who read, sent or deleted which kinds of health data, and how many.",
                details: [
                    "Entries are encrypted and chained. --verify checks the whole chain. It prints the number",
                    "of entries and the digest of the last one, or names the first broken entry and ends",
                    "with exit status 1.",
                ],
                options: [
                    OptionSyntax(
                        "since", value: "SPAN", summary: "only entries of the last days, such as 7d"
                    ),
                    OptionSyntax("verify", summary: "check the log instead of showing it"),
                    .now,
                ],
                examples: [
                    "clarity-jobs audit log --since 7d --output json",
                    "clarity-jobs audit log --verify",
                ])
        ],
        runsAlone: true)
}
