// The commands about backups of the state directory.
extension CommandSyntax {
    static let backup = CommandSyntax(
        name: "backup", summary: "Copies the history and the health data, while others use them.",
        details: [
            "The backup is a folder named by its instant, in `backups` of the state directory or in DIR,",
            "open to you alone. Values stay sealed in it, and the master key is not in it: keep that",
            "elsewhere. Before the program changes a file's schema it makes a backup of it by itself.",
        ],
        operands: "[DIR]",
        options: [
            OptionSyntax(
                "keep", value: "N",
                summary: "how many that were asked for stay there, 7 at first")
        ],
        examples: [
            "clarity-jobs backup",
            "clarity-jobs backup /mnt/nas/clarity --keep 30",
            "clarity-jobs backup list",
        ],
        commands: [
            CommandSyntax(
                name: "list", summary: "Lists the backups, newest first.", operands: "[DIR]")
        ])
    static let restore = CommandSyntax(
        name: "restore", summary: "Puts damaged files back to a backup, or both to what one has.",
        details: [
            "Without BACKUP, a name or a folder, each damaged or missing file comes from the newest sound",
            "backup that has it. With one, everything goes back to what it has. What was there is moved",
            "into `damaged-...` beside it and never removed. Nobody else may use the state meanwhile: stop",
            "the loop first. What is cut short is finished by the same command; until then every other",
            "one refuses to work. Samples that may have been sent since the backup are sent again where",
            "the backend knows them by their id, and else count as possibly sent.",
        ],
        operands: "[BACKUP]",
        options: [OptionSyntax("dry-run", summary: "check everything, and change nothing")],
        examples: [
            "clarity-jobs restore",
            "clarity-jobs restore 20261120T060000Z --dry-run",
            "clarity-jobs restore /mnt/nas/clarity/20261120T060000Z",
        ])
}
