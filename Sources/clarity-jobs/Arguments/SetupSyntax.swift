extension CommandSyntax {
    static let setUp = CommandSyntax(
        name: "init", summary: "Set up the first sync: ask, check, log in, send.",
        details: [
            "Asks for the backend, your login, where the export is, your time zone and when the machine",
            "may upload, and checks each answer. Then it writes a job file, logs in, reads the export,",
            "sends it, and installs what starts the jobs. It overwrites nothing. Each answer can also be",
            "an option; with --yes it asks nothing. Run by the user of an installed service, it sets that",
            "service up: sudo -u clarity-jobs clarity-jobs init",
        ],
        options: [
            OptionSyntax("backend", value: "URL", summary: "address of the CLARITY server's API"),
            OptionSyntax("email", value: "EMAIL", summary: "email address of the account"),
            OptionSyntax(
                "account", value: "WORD", choices: SetupAnswers.Account.allCases.map(\.rawValue),
                summary: "whether you have an account; with no, one is created first"),
            OptionSyntax(
                "first-name", value: "NAME", summary: "your first name, for a new account"),
            OptionSyntax("last-name", value: "NAME", summary: "your last name, for a new account"),
            OptionSyntax(
                "accept-terms", summary: "accept the backend's terms, for a new account"),
            OptionSyntax("password-stdin", summary: "read the password from the standard input"),
            OptionSyntax(
                "source", value: "KIND", choices: SetupAnswers.Source.allCases.map(\.rawValue),
                summary: "how samples get here"),
            OptionSyntax("path", value: "FILE", summary: "the file or folder with the samples"),
            OptionSyntax("time-zone", value: "ZONE", summary: "time zone of the days"),
            OptionSyntax(
                "hours", value: "HOURS", choices: SetupAnswers.Hours.allCases.map(\.rawValue),
                summary: "when to upload"),
            OptionSyntax(
                "start", value: "STARTER", choices: SetupAnswers.Starter.allCases.map(\.rawValue),
                summary: "what starts the jobs"),
            OptionSyntax("no-sync", summary: "read the export, but send nothing yet"),
            OptionSyntax("yes", summary: "ask nothing: use the options and the usual answers"),
        ],
        examples: [
            "clarity-jobs init",
            "clarity-jobs init --yes --backend https://clarity.example/api/v1 --email you@example.com",
        ])
}
