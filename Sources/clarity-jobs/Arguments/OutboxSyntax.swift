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
