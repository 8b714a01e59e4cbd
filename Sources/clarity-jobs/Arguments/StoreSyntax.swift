// The commands for a state in PostgreSQL.
extension CommandSyntax {
    private static let apply = [
        OptionSyntax("apply", summary: "run the statements too, in one transaction"),
        OptionSyntax(
            "owner", value: "ROLE", summary: "with --apply: log in as this role, not as the URL's"),
    ]

    static let store = CommandSyntax(
        name: "store",
        summary: "Prepare a PostgreSQL database for the history and the health data.",
        commands: [
            CommandSyntax(
                name: "init",
                summary: "Show the statements that make the tables and the roles.",
                details: [
                    "The database is the one of `store: { url: ... }` in the job file. The statements are for",
                    "the role that owns it and may create roles. Each account gets a role of its own, which",
                    "sees the rows of that account alone; its password follows from the account's master key,",
                    "and the database gets only what a login is checked by. A master key is made where there",
                    "is none yet.",
                ],
                options: apply,
                examples: [
                    "clarity-jobs store init | sudo -u postgres psql -v ON_ERROR_STOP=1 clarity",
                    "clarity-jobs store init --apply --owner postgres",
                ]),
            CommandSyntax(
                name: "migrate",
                summary: "Show the statements that bring an older database up to date.",
                details: [
                    "Run it after an update of this program, after a change of master keys, and when accounts",
                    "were added to the job file: each account needs a role.",
                ],
                options: apply),
            CommandSyntax(
                name: "status",
                summary: "Show the database's versions, the loops, and accounts without a role."),
        ])
}
