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
                    .email,
                    .passwordInput,
                    OptionSyntax(
                        "accounts-from", value: "FILE",
                        summary: "log in the accounts of a CSV file with a column `id`"),
                ],
                examples: [
                    "clarity-jobs auth login --email you@example.com",
                    "clarity-jobs auth login --email a@b.example --password-stdin"
                        + " < password.txt",
                ]),
            CommandSyntax(
                name: "register", summary: "Create an account at the backend.",
                details: [
                    "Asks for the new password twice. Many backends take no registrations: ask whoever runs",
                    "yours for an account.",
                ],
                options: [
                    .email,
                    OptionSyntax("first-name", value: "NAME", summary: "your first name"),
                    OptionSyntax("last-name", value: "NAME", summary: "your last name"),
                    OptionSyntax("name", value: "NAME", summary: "the name that the account shows"),
                    OptionSyntax(
                        "accept-terms", summary: "accept the backend's terms and privacy policy"),
                    .passwordInput,
                ]),
            CommandSyntax(
                name: "verify", summary: "Confirm your email address with the code from the mail.",
                options: [
                    .email,
                    OptionSyntax(
                        "code", value: "CODE", summary: "the code; without it you are asked"),
                ]),
            CommandSyntax(
                name: "resend-code", summary: "Have the code for `auth verify` mailed again.",
                options: [
                    .email
                ]),
            CommandSyntax(
                name: "reset-password", summary: "Set a new password with a code from a mail.",
                details: [
                    "Has a code mailed to you, asks for it, and asks for the new password twice. A script",
                    "takes two calls: without --code the first has the code mailed, and the second gets it",
                    "by --code and the password from standard input.",
                ],
                options: [
                    .email,
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
                summary: "End the session, here and at the backend; your data stays here.",
                details: [
                    "With --forget-data it also deletes the archive of records, the profile, samples that wait",
                    "to be sent, and everything fetched from the backend. It asks on the terminal first, and",
                    "prints how many of each were deleted. Without `backend:` there is no session, and only",
                    "the data to delete. The master key and the history of runs stay. A run that is under way",
                    "restores nothing. Data at the backend stays there.",
                ],
                options: [
                    OptionSyntax(
                        "forget-data", summary: "delete all health data on this machine too"),
                    OptionSyntax("yes", summary: "with --forget-data: do not ask"),
                ],
                examples: ["clarity-jobs auth logout", "clarity-jobs auth logout --forget-data"]),
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

// The commands for the accounts of a job file.
extension CommandSyntax {
    static let accounts = CommandSyntax(
        name: "accounts", summary: "List, add and remove the accounts of the job file.",
        commands: [
            CommandSyntax(
                name: "list", summary: "List the accounts, and folders of data without an account.",
                details: [
                    "`not declared` means that there is data of an account that the job file does not have.",
                    "`removed` means that its data was deleted; `accounts show` has the receipt.",
                ]),
            CommandSyntax(
                name: "show",
                summary: "Show an account: its settings, jobs, and whether its data is fresh.",
                details: [
                    "Opens no health data. For an account whose data was deleted, shows the receipt."
                ],
                operands: "ID", options: [.now]),
            CommandSyntax(
                name: "add", summary: "Add an account to the folder of accounts.",
                details: [
                    "Writes ID.yaml into the folder that `accounts:` of the job file names; a loop finds it by",
                    "itself. --from adds every account of a table that is not there yet: a CSV file whose first",
                    "line names the columns `id`, and if wanted `login` and `time_zone`. If one line is wrong,",
                    "nothing is added.",
                ],
                operands: "[ID]",
                options: [
                    OptionSyntax(
                        "login", value: "EMAIL", summary: "email address of the account's login"),
                    OptionSyntax(
                        "time-zone", value: "ZONE", summary: "time zone of the account's days"),
                    OptionSyntax("from", value: "FILE", summary: "a CSV file with accounts"),
                ],
                examples: [
                    "clarity-jobs accounts add anna --login anna@example.org",
                    "clarity-jobs accounts add --from wearers.csv",
                ]),
            CommandSyntax(
                name: "remove", summary: "Remove an account; with --wipe, its data too.",
                details: [
                    "Deletes ID.yaml, so that the account's jobs run no more. Its data stays for another day,",
                    "unless --wipe deletes it: the session, here and at the backend, samples, archive, audit log,",
                    "backups and key. It shows a receipt with the number of each, and keeps it. An attempt that",
                    "runs meanwhile writes nothing more. The sources, the history of runs, and the data at the",
                    "backend stay. --wipe also works for data that no account of the job file has any more.",
                ],
                operands: "ID",
                options: [
                    OptionSyntax("wipe", summary: "delete the account's data on this machine"),
                    OptionSyntax("yes", summary: "do not ask"),
                ],
                examples: ["clarity-jobs accounts remove w07 --wipe"]),
        ])
}

extension OptionSyntax {
    /// The option of commands that read one account's data, for all accounts in turn.
    static let all = OptionSyntax("all", summary: "each account of the job file in turn")

    // Options that several commands have.

    static let email = OptionSyntax(
        "email", value: "EMAIL", summary: "email address of the account")
    static let passwordInput = OptionSyntax(
        "password-stdin", summary: "read the password from standard input")
    static let certificate = OptionSyntax(
        "certificate", value: "FILE",
        summary: "certificate for TLS, followed by those that sign it (PEM)")
    static let privateKey = OptionSyntax(
        "private-key", value: "FILE", summary: "private key of the certificate (PEM)")
}

// The commands for a FHIR server.
extension CommandSyntax {
    static let fhir = CommandSyntax(
        name: "fhir", summary: "Work with the FHIR server of a job.",
        commands: [
            CommandSyntax(
                name: "keygen",
                summary: "Make the key of a login, and print what the server needs of it.",
                details: [
                    "Writes a private key (PKCS#8 in PEM) to a new file, readable by you only, for `key` of a job",
                    "of the kind `fhir-upload` with `login: private-key`. Prints the public half as a JWK set,",
                    "which the server's administrator registers for your client.",
                ],
                options: [
                    OptionSyntax(
                        "kind", value: "KIND", choices: ["es384", "rs384"],
                        summary: "P-384 or RSA; default es384"),
                    OptionSyntax("out", value: "FILE", summary: "a new file for the private key"),
                ],
                examples: ["clarity-jobs fhir keygen --out clinic.pem > clinic-jwks.json"]),
            CommandSyntax(
                name: "jwks", summary: "Print what the server needs of a key, as `keygen` does.",
                options: [
                    OptionSyntax("key", value: "FILE", summary: "the private key, in PEM")
                ],
                examples: ["clarity-jobs fhir jwks --key clinic.pem > clinic-jwks.json"]),
            CommandSyntax(
                name: "list",
                summary: "Show what each FHIR server has of the archive.",
                details: [
                    "For each job of the kind `fhir-upload`: the records of the archive are those that were sent,",
                    "those that were refused, those that wait, and those of types that the job does not send.",
                ]),
            CommandSyntax(
                name: "verify",
                summary: "Compare what the server has with what was sent.",
                details: [
                    "Asks the server for the Observations of the patient, and compares their ids and versions with",
                    "those that it confirmed, by type and month. Exits with 1 if something is missing, or was",
                    "changed there. Changes nothing without --settle.",
                ],
                operands: "JOB",
                options: [
                    fhirSince,
                    OptionSyntax(
                        "settle",
                        summary:
                            "take what was found for what was sent: the next run sends the rest"),
                ],
                examples: ["clarity-jobs fhir verify clinic --since 2026-01"]),
            CommandSyntax(
                name: "erase",
                summary: "Delete at the server what a job sent.",
                details: [
                    "Shows how many resources of which types these are, and asks. What was deleted is not sent",
                    "again. The audit log keeps what was deleted. A server may keep former versions.",
                ],
                operands: "JOB",
                options: [
                    OptionSyntax(
                        "types", value: "LIST", summary: "only these, such as HeartRate,StepCount"),
                    fhirSince,
                    OptionSyntax("yes", summary: "delete without asking"),
                ],
                examples: ["clarity-jobs fhir erase clinic --types HeartRate --since 2026-01"]),
        ])

    private static let fhirSince = OptionSyntax(
        "since", value: "MONTH", summary: "only this month and later ones, such as 2026-01")
}

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
                    "Stop the loop first. If a rotation is interrupted, run the same command again; until then",
                    "other commands refuse to work. With a database, copy the new key to the other machines;",
                    "their attempts fail until then.",
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
            "records that in the audit log. It does the same where the audit log of a database ends before",
            "the end that this machine has noted, as after a restore. Nothing else is changed.",
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
            .certificate,
            // Not `key`: its variable would be that of the master key.
            .privateKey,
        ],
        examples: [
            "clarity-jobs receive token add phone",
            "clarity-jobs receive",
            "clarity-jobs receive --certificate cert.pem --private-key key.pem",
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
