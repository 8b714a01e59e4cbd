import ClarityScheduler

/// Formats runs for lines and tables.
enum RunText {
    /// Returns a line such as `com.clarity.refresh: succeeded: 23 insights pulled (run 1)`.
    ///
    /// - Parameter isWhole: whether it has the counts that are zero too.
    static func line(_ run: Run, isWhole: Bool = false) -> String {
        let summary =
            isWhole && !run.tally.isEmpty
            ? [run.tally.whole, run.failure?.reason].compactMap(\.self).joined(separator: "; ")
            : run.state == .succeeded && run.tally.isOfNothing ? "nothing to do" : summary(run)
        let words = summary.isEmpty ? state(run) : "\(state(run)): \(summary)"
        return "\(run.job): \(words) (run \(run.id))"
    }

    static func line(_ deferral: Deferral) -> String {
        "\(deferral.subject): wanted \(deferral.wanted), is \(deferral.measured) "
            + "(\(deferral.source))"
    }

    /// Returns what a run did, why it did not do more, and what it waits for; may be empty.
    static func summary(_ run: Run, waitingOn deferrals: [Deferral] = []) -> String {
        let waits = deferrals.map { "waits: \(line($0))" }
        // A row of zeros beside a failure says nothing, and neither do counts that are missing.
        let counts = run.failure == nil || run.tally.hasCounted ? run.tally.summary : ""
        return ([counts, run.failure?.reason ?? ""] + waits).filter { !$0.isEmpty }
            .joined(separator: "; ")
    }

    /// Returns the state in words for people: a run that waits for a retry says so.
    static func state(_ run: Run) -> String {
        guard run.state == .enqueued, run.attempts > 0 else { return run.state.rawValue }
        if run.needs != nil { return "waiting" }
        let when = run.notBefore.map { " at \(seconds($0))" } ?? ""
        return "to be tried again\(when)"
    }

    /// Returns in words what became of occurrences without a run of their own.
    ///
    /// - Parameter fate: `nil` if no scheduler has dealt with them yet.
    static func words(of fate: OccurrenceFate?, run: RunID?) -> String {
        switch fate {
        case .coalesced:
            "coalesced into run \(run.map { "\($0)" } ?? "that the history no longer has")"
        case .skipped:
            run.map { "skipped: run \($0) was still going (`overlap: skip`)" }
                ?? "skipped by `catch_up`"
        case .expired: "expired: not started in the time that the job allows"
        case .paused: "skipped: the job was paused"
        case nil: "pending: neither run nor skipped yet"
        }
    }

    /// Returns the instant without its milliseconds, for people.
    static func seconds(_ instant: Instant) -> String {
        Instant(secondsSince1970: instant.secondsSince1970).description
    }
}
