// The commands that concern the master key and the audit log.
extension CommandSyntax {
    static let key = CommandSyntax(
        name: "key", summary: "Changes the master key, and says where it is.",
        commands: [
            CommandSyntax(
                name: "rotate",
                summary: "Seals all health data anew with a new master key.",
                details: [
                    "A key in `master.key` is made and put in its place here. One that a credential or a",
                    "variable gives is yours: make the new one (64 hex digits, `openssl rand -hex 32`),",
                    "name it, and put it in the place of the former one when this command has ended and",
                    "before anything else runs. Nobody else may use the health data meanwhile: stop the",
                    "loop first, or the command says that it is in use. What is cut short is finished by",
                    "the same command; until then every other one refuses to work.",
                ],
                options: [
                    OptionSyntax(
                        "new-key-file", value: "FILE", summary: "a file with the new key"),
                    OptionSyntax(
                        "new-key-variable", value: "NAME",
                        summary: "a variable of the environment with the new key"),
                ],
                examples: [
                    "clarity-jobs key rotate",
                    "clarity-jobs key rotate --new-key-file /run/keys/new.key",
                ]),
            CommandSyntax(
                name: "status",
                summary: "Says where the master key is and since when; never the key."),
        ])

    static let audit = CommandSyntax(
        name: "audit",
        summary:
            "Proves that nothing in the history or the outbox is missing, double or left open.",
        options: [.now],
        commands: [
            CommandSyntax(
                name: "log",
                summary:
                    "Shows who read, sent or removed which kinds of health data, and how many.",
                details: [
                    "Entries are sealed and chained to each other. --verify checks the whole chain: it",
                    "tells how many entries there are and the digest of the last, or names the first",
                    "broken entry and ends with status 1.",
                ],
                options: [
                    OptionSyntax("since", value: "SPAN", summary: "only so far back, such as 7d"),
                    OptionSyntax("verify", summary: "check the log instead of showing it"),
                ],
                examples: [
                    "clarity-jobs audit log --since 7d --output json",
                    "clarity-jobs audit log --verify",
                ])
        ])
}
