// The commands about what waits to be sent, and what became of the rest.
extension CommandSyntax {
    static let outbox = CommandSyntax(
        name: "outbox",
        summary: "Adds up where every record and every sample is.",
        details: [
            "Every record that was ever read is queued, known, part of a day or a night, or refused for a",
            "reason; every sample of the outbox is confirmed, on its way, rejected, set aside or waiting.",
            "The sums hold at every instant; `clarity-jobs audit` proves them.",
        ],
        examples: [
            "clarity-jobs outbox",
            "clarity-jobs outbox list --in-state set-aside",
            "clarity-jobs outbox show 17",
            "clarity-jobs outbox retry --in-state set-aside --type heart_rate",
            "clarity-jobs outbox discard --reason range --age 90d",
        ],
        commands: [
            CommandSyntax(
                name: "list", summary: "Lists samples without their values, newest first.",
                options: filters + [
                    OptionSyntax("limit", "n", value: "N", summary: "how many, 20 at first")
                ]),
            CommandSyntax(
                name: "show",
                summary: "Shows one sample: where it is, why, and what the backend said.",
                operands: "ID",
                options: [
                    OptionSyntax(
                        "values",
                        summary: "show its value too, on a terminal; the audit log notes it")
                ]),
            CommandSyntax(
                name: "retry",
                summary: "Puts rejected, unconfirmed and set aside samples back into the queue.",
                details: [
                    "Says what it would do and asks on the terminal. What was discarded comes back with",
                    "--reason discarded alone: it is forgotten, and read again from its source.",
                ],
                options: filters + wish),
            CommandSyntax(
                name: "discard",
                summary: "Gives samples up: they are not sent, and no export brings them back.",
                details: [
                    "Says what it would do and asks on the terminal. The values are removed here; what",
                    "the backend has stays there, and the minutes of steps that `pat-analysis` sends stay.",
                ],
                options: filters + wish),
        ])

    private static let filters = [
        OptionSyntax(
            "in-state", value: "STATE",
            choices: [
                "queued", "sending", "accepted", "confirmed", "stored", "unconfirmed",
                "rejected",
                "set-aside",
            ],
            summary: "only those in this state"),
        OptionSyntax("type", value: "KIND", summary: "only those of a kind, such as heart_rate"),
        OptionSyntax("age", value: "SPAN", summary: "only those measured longer ago, such as 30d"),
        OptionSyntax(
            "reason", value: "WORDS",
            summary:
                "only those whose reason has these words, or a rule: kind, range, future, doubt"),
    ]

    private static let wish = [
        OptionSyntax("all", summary: "all of them, without a filter"),
        OptionSyntax("yes", summary: "do it without asking"),
    ]
}
