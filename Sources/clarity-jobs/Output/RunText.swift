import ClarityScheduler
import JSON

/// Formats runs for lines, tables and JSON.
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

    static let heading = [
        "RUN", "JOB", "TRIGGER", "STATE", "ATTEMPTS", "SCHEDULED FOR", "FINISHED", "SUMMARY",
    ]

    static func row(_ run: Run, waitingOn deferrals: [Deferral] = []) -> [String] {
        [
            run.id.description, run.job.rawValue, run.trigger.rawValue, run.state.rawValue,
            String(run.attempts), seconds(run.scheduledFor), run.finishedAt.map(seconds) ?? "-",
            summary(run, waitingOn: deferrals),
        ]
    }

    static func object(_ run: Run, waitingOn deferrals: [Deferral] = []) -> JSON {
        [
            "run": .integer(run.id.rawValue), "job": .string(run.job.rawValue),
            "kind": .string(run.kind.rawValue), "trigger": .string(run.trigger.rawValue),
            "state": .string(run.state.rawValue), "attempts": .count(run.attempts),
            "scheduled_for": .text(run.scheduledFor), "started_at": .text(run.startedAt),
            "finished_at": .text(run.finishedAt),
            "summary": .string(summary(run, waitingOn: deferrals)),
            "waiting_on": .array(deferrals.map { .object(members($0)) }),
            "counts": object(run.tally), "failure": .text(run.failure?.reason),
            "stop_reason": .text(run.stopReason?.rawValue), "not_before": .text(run.notBefore),
            "needs": .text(run.needs?.rawValue),
            "caused_by": run.causedBy.map { .integer($0.rawValue) } ?? .null,
            "notes": .array(run.notes.map { .string($0) }),
        ]
    }

    /// Returns what a run waits for: the wanted value, the measured value and its source.
    static func members(_ deferral: Deferral) -> [JSON.Member] {
        [
            JSON.Member(name: "reason", value: .string(deferral.reason.rawValue)),
            JSON.Member(name: "subject", value: .string(deferral.subject)),
            JSON.Member(name: "wanted", value: .string(deferral.wanted)),
            JSON.Member(name: "measured", value: .string(deferral.measured)),
            JSON.Member(name: "source", value: .string(deferral.source)),
        ]
    }

    static func object(_ attempt: Attempt) -> JSON {
        [
            "attempt": .count(attempt.number), "machine": .text(attempt.machine),
            "result": .string(attempt.result.rawValue),
            "started_at": .text(attempt.startedAt), "finished_at": .text(attempt.finishedAt),
            "stop_reason": .text(attempt.stopReason?.rawValue), "reason": .text(attempt.reason),
            "counts": object(attempt.tally),
            "peak_memory_bytes": .integer(attempt.peakMemoryBytes),
            "output": OutputText.object(attempt.output),
        ]
    }

    /// Returns the instant without its milliseconds, for people.
    static func seconds(_ instant: Instant) -> String {
        Instant(secondsSince1970: instant.secondsSince1970).description
    }

    private static func object(_ tally: Tally) -> JSON {
        .object(tally.names.map { JSON.Member(name: $0, value: .integer(tally[$0])) })
    }
}
