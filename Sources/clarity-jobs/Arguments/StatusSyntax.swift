extension CommandSyntax {
    /// `status`.
    static let status = CommandSyntax(
        name: "status",
        summary: "Says which goals of freshness hold, and what is to blame where one does not.",
        details: [
            "The goals are those of `fresh:` in the job file. What has come once and has no line there has",
            "a default goal, three times the gap between two runs of its job and at least 2 days, which",
            "holds where the source or the backend had nothing newer. Where one is missed it says whether the",
            "sources had nothing newer, which job holds a newer sample back and for what it waits,",
            "whether the backend has not confirmed it, or whether a person has to decide. Reads only;",
            "sends nothing. The status is 1 when a goal is missed or a job is overdue, which means that",
            "no scheduler has looked at it for 15 minutes after its time; --quiet shows only those.",
        ],
        options: [.now],
        examples: [
            "clarity-jobs status",
            "clarity-jobs status --quiet || mail -s 'health data is stale' you@example.com",
        ])
}
