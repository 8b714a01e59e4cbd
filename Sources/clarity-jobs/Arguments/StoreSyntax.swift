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
                name: "copy",
                summary: "Take the state from the files into the database, or back.",
                details: [
                    "Stop all loops first. Before a copy counts, all rows of both places are compared. The old",
                    "place stays as it is, but for the login, which moves: each renewal of a login makes the",
                    "one before worthless. A place that has data of its own is left as it is. Run the command",
                    "again if it was cut short: it does the rest. Both places use the same master keys.",
                ],
                options: [
                    OptionSyntax(
                        "to", value: "PLACE", summary: "the new place: `database` or `files`")
                ],
                examples: ["clarity-jobs store copy --to database"]),
            CommandSyntax(
                name: "status",
                summary: "Show the database's versions, the loops, and accounts without a role."),
        ])
}
