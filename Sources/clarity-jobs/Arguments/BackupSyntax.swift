// The commands for backups of the state directory.
extension CommandSyntax {
    static let backup = CommandSyntax(
        name: "backup", summary: "Back up history and health data, while other commands use them.",
        details: [
            "Writes a folder named after the time, readable by you only, into `backups` of the state",
            "directory or into DIR. Values stay encrypted. The master key is not part of a backup: keep a",
            "copy of it elsewhere. clarity-jobs makes a backup by itself before it changes a file's schema.",
            "With --all, backs up the history and then the data of each account: in the account's folder,",
            "or in DIR/ID.",
        ],
        operands: "[DIR]",
        options: [
            .all,
            OptionSyntax(
                "keep", value: "N",
                summary: "number of your backups to keep there; default 7"),
        ],
        examples: [
            "clarity-jobs backup",
            "clarity-jobs backup /mnt/nas/clarity --keep 30",
            "clarity-jobs backup /mnt/nas/clarity --all",
            "clarity-jobs backup list",
        ],
        commands: [
            CommandSyntax(
                name: "list", summary: "List backups, newest first.", operands: "[DIR]")
        ],
        runsAlone: true)
    static let restore = CommandSyntax(
        name: "restore", summary: "Restore damaged files, or the whole state from a named backup.",
        details: [
            "Without BACKUP (a name or a folder), restores each damaged or missing file from the newest",
            "intact backup that has it. With BACKUP, restores everything from it. Existing files are moved",
            "to `damaged-...` beside them, never deleted. Stop the loop first. If a restore is interrupted,",
            "run the same command again; until then other commands refuse to work. Samples that may have",
            "been sent since the backup are sent again if the backend deduplicates, and otherwise count",
            "as possibly sent.",
        ],
        operands: "[BACKUP]",
        options: [OptionSyntax("dry-run", summary: "check everything and change nothing")],
        examples: [
            "clarity-jobs restore",
            "clarity-jobs restore 20261120T060000Z --dry-run",
            "clarity-jobs restore /mnt/nas/clarity/20261120T060000Z",
        ])
}
