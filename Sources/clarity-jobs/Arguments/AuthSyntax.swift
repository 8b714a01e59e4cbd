// The commands about who is logged in.
extension CommandSyntax {
    static let auth = CommandSyntax(
        name: "auth", summary: "Logs in to the backend and out, and says who is logged in.",
        commands: [
            CommandSyntax(
                name: "login", summary: "Logs in.",
                details: [
                    "The password is asked for on the terminal, which does not show it; or it comes from",
                    "standard input; or, for a machine alone, from the credential",
                    "$CREDENTIALS_DIRECTORY/clarity-jobs.password, which jobs also log in with again when",
                    "the session has ended.",
                    "",
                    "One address is tried twice in 15 minutes and no more, whatever becomes of it: the",
                    "backend locks an account after three. The status is 75 then.",
                ],
                options: [
                    OptionSyntax("email", value: "EMAIL", summary: "who logs in"),
                    OptionSyntax(
                        "password-stdin", summary: "read the password from standard input"),
                ],
                examples: [
                    "clarity-jobs auth login --email you@example.com",
                    "clarity-jobs auth login --email you@example.com --password-stdin"
                        + " < password.txt",
                ]),
            CommandSyntax(
                name: "logout",
                summary: "Ends the session, here and at the backend, and removes all data here.",
                details: [
                    "Asks on the terminal before it removes what belongs to the user: session, profile,",
                    "samples that wait to be sent, and everything that was pulled. The receipt says how",
                    "many of each there were. The master key and the history of runs stay; a run that is",
                    "under way puts nothing back.",
                ],
                options: [
                    OptionSyntax("keep-data", summary: "end the session alone; all data stays"),
                    OptionSyntax("yes", summary: "remove the data without asking"),
                ],
                examples: ["clarity-jobs auth logout --keep-data"]),
            CommandSyntax(
                name: "status",
                summary: "Says who is logged in, where, and how the session fares.",
                details: [
                    "With the end of the access token, its last renewal, the last refusal, and how many",
                    "logins may be tried now. The status is 77 when nobody is logged in.",
                ]),
        ])
}
