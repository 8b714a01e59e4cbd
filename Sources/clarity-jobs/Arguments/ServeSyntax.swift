// The web pages, and the ways into them.
extension CommandSyntax {
    static let serve = CommandSyntax(
        name: "serve", summary: "Serve web pages with your data and your jobs, until stopped.",
        details: [
            "The pages show what other commands show, as charts. Open them with the link that this",
            "command prints on a terminal, or that `serve link` makes. Other machines reach them only",
            "with TLS and a password. If the job file has accounts, `serve link` opens the states of",
            "all accounts, and `serve link --account ID` the data of one, for its wearer.",
        ],
        options: [
            OptionSyntax(
                "listen", value: "HOST:PORT",
                summary: "IPv4 address and port; default 127.0.0.1:8799"),
            OptionSyntax("read-only", summary: "show only: no page changes anything"),
            OptionSyntax(
                "certificate", value: "FILE",
                summary: "certificate for TLS, followed by those that sign it (PEM)"),
            // Not `key`: its variable would be that of the master key.
            OptionSyntax(
                "private-key", value: "FILE", summary: "private key of the certificate (PEM)"),
            OptionSyntax(
                "behind", value: "URL",
                summary: "address under which a proxy with TLS serves the pages"),
        ],
        examples: [
            "clarity-jobs serve",
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
                    OptionSyntax(
                        "password-stdin", summary: "read the password from standard input")
                ]),
            CommandSyntax(
                name: "sessions", summary: "List or end the sessions of browsers.",
                commands: [
                    CommandSyntax(
                        name: "list", summary: "List the sessions, and when each ends by itself."),
                    CommandSyntax(
                        name: "end", summary: "End sessions at once.", operands: "[SESSION...]",
                        options: [OptionSyntax("all", summary: "end every session")],
                        examples: [
                            "clarity-jobs serve sessions end 1a2b3c4d",
                            "clarity-jobs serve sessions end --all --account anna",
                        ]),
                ]),
        ],
        runsAlone: true)
}
