public import ClarityScheduler

extension JobKindDeclaration {
    /// The kind `command`, for any catalogue: `CommandPlan` reads its options, and `CommandWorker`
    /// runs it.
    public static let command = JobKindDeclaration(
        .command, summary: "runs any program, and takes its exit status for the outcome",
        options: [
            OptionDeclaration(
                "command", .command, isRequired: true,
                summary: "the program with its arguments, a word an entry; no shell has a part "
                    + "in it"),
            OptionDeclaration(
                "folder", .path, standard: "/", summary: "the folder in which it is started"),
            OptionDeclaration(
                "environment", .variables,
                summary: "more of what it finds in its environment; nothing secret"),
            OptionDeclaration(
                "output_limit", .size((1 << 10)...(16 << 20)), standard: String(64 << 10),
                summary: "how much of what it writes is kept with the attempt, one half of it "
                    + "from the beginning and one from the end"),
        ], needsSections: false)
}
