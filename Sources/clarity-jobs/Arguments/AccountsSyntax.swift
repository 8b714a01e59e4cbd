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
}
