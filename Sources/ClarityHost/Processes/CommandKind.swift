public import ClarityScheduler

extension JobKindDeclaration {
    /// The kind `command`, for any catalogue: `CommandPlan` reads its options, and `CommandWorker`
    /// runs it.
    public static let command = JobKindDeclaration(
        .command, summary: "runs any program; its exit status decides the outcome",
        options: [
            OptionDeclaration(
                "command", .command, isRequired: true,
                summary: "program and arguments, one word per entry; no shell is involved"),
            OptionDeclaration(
                "folder", .path, standard: "/",
                summary: "working directory"),
            OptionDeclaration(
                "environment", .variables,
                summary: "more environment variables; no secrets"),
            OptionDeclaration(
                "output_limit", .size((1 << 10)...(16 << 20)), standard: String(64 << 10),
                summary: "how much of the output is kept, one half from the beginning and one "
                    + "from the end"),
        ], needsSections: false)
}
