// The commands that tell why something was or would be decided.
extension CommandSyntax {
    static let explain = CommandSyntax(
        name: "explain", summary: "Says why a job does or does not run now.",
        details: [
            "Each constraint with what it wants and what is, everything else that is in the way, what",
            "would end that, and when the job likely starts. An estimate is the median of how long",
            "the same held the job back in the last 7 days, of three times or more.",
            "",
            "With --at it says what became of the last occurrence up to that time: which run stands for",
            "it, what held that run back and for how long, and when no scheduler ran.",
        ],
        operands: "JOB",
        options: [
            OptionSyntax("at", value: "TIME", summary: "explain that time instead of now"),
            .now,
        ],
        examples: [
            "clarity-jobs explain com.clarity.healthkit.upload",
            "clarity-jobs explain com.clarity.cleanup --at '2026-11-20 03:30'",
        ])

    static let doctor = CommandSyntax(
        name: "doctor",
        summary: "Shows what is known of this machine's conditions, and from whom.",
        details: [
            "Each condition with its source and the time at which it was told, what would be needed to",
            "know more, and which changes this process hears of at once. Asks every check of the job",
            "file; starts no service and changes nothing.",
        ],
        examples: ["clarity-jobs doctor --output json"])

    static let simulate = CommandSyntax(
        name: "simulate", summary: "Shows which runs there would be, and changes nothing.",
        details: [
            "The decisions are those of the loop, on a clock of their own. Conditions come from the",
            "trace; without one every constraint holds. Attempts take the median of the job's last 20",
            "that succeeded here, else --attempt, and succeed; sources never change. `every` counts",
            "from where it does on this machine, or from the beginning.",
        ],
        operands: "[JOB...]",
        options: [
            OptionSyntax(
                "from", value: "TIME",
                summary: "begin then, RFC 3339 or local; else where the trace does, or now"),
            OptionSyntax("days", value: "N", summary: "so many days, 1 to 3660, 7 at first"),
            OptionSyntax(
                "trace", value: "FILE", summary: "the conditions, as `trace record` writes them"),
            OptionSyntax(
                "attempt", value: "SPAN",
                summary: "what an attempt takes; else 30s, or half of its time if that is less"),
            .now,
        ],
        examples: [
            "clarity-jobs simulate --days 1",
            "clarity-jobs simulate --trace week.ndjson --days 7 --output json",
        ])
}
