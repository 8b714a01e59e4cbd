// The receiver of pushes, and the tokens of those who push.
extension CommandSyntax {
    static let receive = CommandSyntax(
        name: "receive", summary: "Receive the REST pushes of Health Auto Export, until stopped.",
        details: [
            "Stores each push in the folder of the source that has `delete_after_reading: true`. Jobs",
            "read it from there. An address that other machines reach needs TLS.",
        ],
        options: [
            OptionSyntax(
                "listen", value: "HOST:PORT",
                summary: "IPv4 address and port; default 127.0.0.1:9188"),
            OptionSyntax(
                "certificate", value: "FILE",
                summary: "certificate for TLS, followed by those that sign it (PEM)"),
            // Not `key`: its variable would be that of the master key.
            OptionSyntax(
                "private-key", value: "FILE", summary: "private key of the certificate (PEM)"),
        ],
        examples: [
            "clarity-jobs receive token add phone",
            "clarity-jobs receive",
            "clarity-jobs receive --listen 0.0.0.0:9188 --certificate cert.pem --private-key key.pem",
        ],
        commands: [
            CommandSyntax(
                name: "token", summary: "Add, list and revoke the tokens of those who push.",
                commands: [
                    CommandSyntax(
                        name: "add", summary: "Add a token and show it, this one time.",
                        operands: "NAME"),
                    CommandSyntax(
                        name: "list", summary: "List the tokens by name; never the tokens."),
                    CommandSyntax(
                        name: "revoke", summary: "Revoke a token.", operands: "NAME"),
                ])
        ],
        runsAlone: true)
}
