// The commands for the login.
extension CommandSyntax {
    static let auth = CommandSyntax(
        name: "auth", summary: "Log in, log out, and show who is logged in.",
        commands: [
            CommandSyntax(
                name: "login", summary: "Log in to the backend.",
                details: [
                    "Asks for the password on the terminal without showing it, or reads it from standard",
                    "input. On an unattended machine the password can come from the credential",
                    "$CREDENTIALS_DIRECTORY/clarity-jobs.password; jobs then log in again by themselves when",
                    "the session has ended.",
                    "",
                    "If the backend has not confirmed your address yet, asks for the code from its mail.",
                    "",
                    "Tries an address at most twice in 15 minutes, because the backend locks an account after",
                    "three failures. A third try ends with exit status 75. Only a refused password counts, or",
                    "a login without an answer.",
                    "",
                    "--account logs one account of the job file in, with the address that its `login` names.",
                    "--accounts-from logs in every account of a table that nobody has logged in, one after the",
                    "other: a CSV file as of `accounts add`. With --password-stdin a line of the input is an id, a",
                    "space and its password; otherwise the credential clarity-jobs.password.ID has it. If the",
                    "backend limits logins, waits out its limit, and says how long the rest takes.",
                ],
                options: [
                    OptionSyntax("email", value: "EMAIL", summary: "email address of the account"),
                    OptionSyntax(
                        "password-stdin", summary: "read the password from standard input"),
                    OptionSyntax(
                        "accounts-from", value: "FILE",
                        summary: "log in the accounts of a CSV file with a column `id`"),
                ],
                examples: [
                    "clarity-jobs auth login --email you@example.com",
                    "clarity-jobs auth login --email you@example.com --password-stdin"
                        + " < password.txt",
                ]),
            CommandSyntax(
                name: "register", summary: "Create an account at the backend.",
                details: [
                    "Asks for the new password twice. Many backends take no registrations: ask whoever runs",
                    "yours for an account.",
                ],
                options: [
                    OptionSyntax("email", value: "EMAIL", summary: "email address of the account"),
                    OptionSyntax("first-name", value: "NAME", summary: "your first name"),
                    OptionSyntax("last-name", value: "NAME", summary: "your last name"),
                    OptionSyntax("name", value: "NAME", summary: "the name that the account shows"),
                    OptionSyntax(
                        "accept-terms", summary: "accept the backend's terms and privacy policy"),
                    OptionSyntax(
                        "password-stdin", summary: "read the password from standard input"),
                ]),
            CommandSyntax(
                name: "verify", summary: "Confirm your email address with the code from the mail.",
                options: [
                    OptionSyntax("email", value: "EMAIL", summary: "email address of the account"),
                    OptionSyntax(
                        "code", value: "CODE", summary: "the code; without it you are asked"),
                ]),
            CommandSyntax(
                name: "resend-code", summary: "Have the code for `auth verify` mailed again.",
                options: [
                    OptionSyntax("email", value: "EMAIL", summary: "email address of the account")
                ]),
            CommandSyntax(
                name: "reset-password", summary: "Set a new password with a code from a mail.",
                details: [
                    "Has a code mailed to you, asks for it, and asks for the new password twice. A script",
                    "takes two calls: without --code the first has the code mailed, and the second gets it",
                    "by --code and the password from standard input.",
                ],
                options: [
                    OptionSyntax("email", value: "EMAIL", summary: "email address of the account"),
                    OptionSyntax("code", value: "CODE", summary: "the code from the mail"),
                    OptionSyntax(
                        "password-stdin", summary: "read the new password from standard input"),
                ],
                examples: [
                    "clarity-jobs auth reset-password --email you@example.com",
                    "clarity-jobs auth reset-password --email you@example.com --code 123456"
                        + " --password-stdin < password.txt",
                ]),
            CommandSyntax(
                name: "logout",
                summary: "End the session, here and at the backend, and delete your data here.",
                details: [
                    "Asks on the terminal before it deletes the session, the profile, samples that wait to be",
                    "sent, and everything fetched from the backend. Prints how many of each were deleted. The",
                    "master key and the history of runs stay. A run that is under way restores nothing. Data",
                    "at the backend stays there.",
                ],
                options: [
                    OptionSyntax("keep-data", summary: "end the session only; keep all data"),
                    OptionSyntax("yes", summary: "do not ask"),
                ],
                examples: ["clarity-jobs auth logout --keep-data"]),
            CommandSyntax(
                name: "status",
                summary: "Show who is logged in, where, and the state of the session.",
                details: [
                    "Shows when the access token expires, its last renewal, the last refusal, and how many",
                    "logins may be tried now. The exit status is 77 if nobody is logged in, or if the backend",
                    "has refused for 15 minutes to renew the session: then jobs wait for a login.",
                ]),
        ])
}
