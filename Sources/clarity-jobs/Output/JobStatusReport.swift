import ClarityScheduler

/// Describes the state of a job in a few words that follow its name.
enum JobStatusReport {
    /// The facts from which the words are made.
    struct Facts {
        var isDisabled = false
        /// The job's state; `nil` for a disabled job.
        var status: JobStatus?
        /// Since when the job's run has waited for each subject.
        var since: [String: Instant] = [:]
        /// The job's last run, finished or not.
        var last: Run?
        /// The current time; `lastLook` is when a scheduler last left a trace.
        var now: Instant?
        var lastLook: Instant?
    }

    /// Returns text such as `overdue by 1d15h: no scheduler has run since ...`; `nil` for a job
    /// that is not overdue.
    static func overdue(_ status: JobStatus?, now: Instant?, lastLook: Instant?) -> String? {
        guard let due = status?.overdueSince, let now else { return nil }
        let minutes = (now - due).milliseconds / 60_000
        let since = lastLook.map { "since \(RunReport.seconds($0))" } ?? "yet"
        return "overdue by \(Duration.seconds(minutes * 60).text): no scheduler has run \(since)"
    }

    /// Returns text that follows the job's next time and a semicolon, if its schedule waits until
    /// the clock is where it was.
    static func setBack(until instant: Instant) -> String {
        "the clock was set back: the schedule goes on at \(RunReport.seconds(instant)), "
            + "where it had been"
    }

    /// Returns text such as
    /// `waits for network: wanted connected, is no route (netlink), since ...`.
    static func words(_ facts: Facts) -> String {
        guard !facts.isDisabled, let status = facts.status else { return "is disabled" }
        let failure = failure(facts)
        if let open = status.open, open.state == .running {
            return isAbandoned(open)
                ? "ran when its scheduler ended; the next `loop` or `run --due` takes it over"
                : "runs now"
        }
        if let overdue = overdue(status, now: facts.now, lastLook: facts.lastLook) {
            return "is \(overdue)\(failure)"
        }
        let waits = holding(status)
        guard !waits.isEmpty else {
            let clock = status.setBackUntil.map { "; \(setBack(until: $0))" } ?? ""
            let next = status.nextStart.map { "is due \(RunReport.seconds($0))\(clock)" }
            return (next ?? "starts by event, chain or request") + failure
        }
        let words = waits.map { deferral in
            "\(deferral.subject): wanted \(deferral.wanted), is \(deferral.measured)"
                + (facts.since[deferral.subject].map { ", since \(RunReport.seconds($0))" } ?? "")
        }
        return "waits for \(words.joined(separator: "; "))\(failure)"
    }

    /// Returns whether something other than its schedule holds the job back.
    ///
    /// It does if the job is disabled or waits, if its last run failed, or if the scheduler of its
    /// running run has died.
    static func isHeldBack(_ facts: Facts) -> Bool {
        guard !facts.isDisabled, let status = facts.status else { return true }
        if let open = status.open, open.state == .running { return isAbandoned(open) }
        return !holding(status).isEmpty || facts.last?.state == .failed
    }

    /// Returns whether the history says that the run is running, but its lease has lapsed.
    private static func isAbandoned(_ run: Run) -> Bool { run.lease?.state == .lapsed }

    /// Returns what keeps a requested or due job from starting.
    ///
    /// Constraints count only while something asks for the job.
    private static func holding(_ status: JobStatus) -> [Deferral] {
        let isAsked = !status.deferrals.contains {
            $0.reason == .notDue && $0.subject == "schedule"
        }
        return status.deferrals.filter { deferral in
            switch deferral.reason {
            case .notDue: false
            case .constraint: isAsked
            case .backoff, .overlap, .paused: true
            }
        }
    }

    private static func failure(_ facts: Facts) -> String {
        let reason = facts.status?.open?.failure?.reason ?? facts.last?.failure?.reason
        return reason.map { "; its last try: \($0)" } ?? ""
    }
}
