import ClarityScheduler

/// How a job stands, in a few words that follow its name.
enum JobStatusText {
    /// What the words are made from.
    struct Facts {
        var isDisabled = false
        /// `nil` for a disabled job.
        var standing: JobStatus?
        /// Since when its run waits for each subject.
        var since: [String: Instant] = [:]
        /// Its last run, finished or not.
        var last: Run?
        /// Now, and when a scheduler last left a trace.
        var now: Instant?
        var lastLook: Instant?
    }

    /// `overdue by 1d15h: no scheduler has run since ...`; `nil` for a job that is not.
    static func overdue(_ standing: JobStatus?, now: Instant?, lastLook: Instant?) -> String? {
        guard let due = standing?.overdueSince, let now else { return nil }
        let minutes = (now - due).milliseconds / 60_000
        let since = lastLook.map { "since \(RunText.seconds($0))" } ?? "yet"
        return "overdue by \(Duration.seconds(minutes * 60).text): no scheduler has run \(since)"
    }

    /// `waits for network: wanted connected, is no route (netlink), since ...`.
    static func words(_ facts: Facts) -> String {
        guard !facts.isDisabled, let standing = facts.standing else { return "is disabled" }
        let failure = failure(facts)
        if let open = standing.open, open.state == .running {
            return isAbandoned(open)
                ? "ran when its scheduler ended; the next `loop` or `run --due` takes it over"
                : "runs now"
        }
        if let overdue = overdue(standing, now: facts.now, lastLook: facts.lastLook) {
            return "is \(overdue)\(failure)"
        }
        let waits = holding(standing)
        guard !waits.isEmpty else {
            let next = standing.nextStart.map { "is due \(RunText.seconds($0))" }
            return (next ?? "starts by event, chain or request") + failure
        }
        let words = waits.map { deferral in
            "\(deferral.subject): wanted \(deferral.wanted), is \(deferral.measured)"
                + (facts.since[deferral.subject].map { ", since \(RunText.seconds($0))" } ?? "")
        }
        return "waits for \(words.joined(separator: "; "))\(failure)"
    }

    /// Whether something other than its schedule holds it back, or nobody plans it.
    static func isHeldBack(_ facts: Facts) -> Bool {
        guard !facts.isDisabled, let standing = facts.standing else { return true }
        if let open = standing.open, open.state == .running { return isAbandoned(open) }
        return !holding(standing).isEmpty || facts.last?.state == .failed
    }

    /// Whether nobody runs it although the history says so.
    private static func isAbandoned(_ run: Run) -> Bool { run.lease?.standing == .lapsed }

    /// What keeps it from starting although something asks for it; constraints of a job that nothing
    /// asks for now hold nothing back.
    private static func holding(_ standing: JobStatus) -> [Deferral] {
        let isAsked = !standing.deferrals.contains {
            $0.reason == .notDue && $0.subject == "schedule"
        }
        return standing.deferrals.filter { deferral in
            switch deferral.reason {
            case .notDue: false
            case .constraint: isAsked
            case .backoff, .overlap, .paused: true
            }
        }
    }

    private static func failure(_ facts: Facts) -> String {
        let reason = facts.standing?.open?.failure?.reason ?? facts.last?.failure?.reason
        return reason.map { "; its last try: \($0)" } ?? ""
    }
}
