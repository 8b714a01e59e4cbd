import ClarityHost
import ClarityScheduler
import HealthStore
import Platform
import Reports

/// Describes the state of a job in a few words that follow its name.
enum JobStatusReport {
    /// The facts from which the words are made.
    struct Facts {
        var isDisabled = false
        /// The job's state; `nil` for a disabled job.
        var status: JobStatus?
        /// Since when the job's run has waited for each subject.
        var since: [String: Instant] = [:]
        /// How the last run ended that succeeded or failed.
        var lastEnd: JobEnd?
        /// How long the running attempt takes.
        var pace: JobPace?
        /// The current time; `lastLook` is when a scheduler last left a trace.
        var now: Instant?
        var lastLook: Instant?
    }

    /// Returns text such as `overdue by 1d15h: no scheduler has run since ...`; `nil` for a job
    /// that is not overdue.
    static func overdue(_ status: JobStatus?, now: Instant?, lastLook: Instant?) -> String? {
        guard let due = status?.overdueSince, let now else { return nil }
        let minutes = (now - due).milliseconds / 60_000
        let since = lastLook.map { "since \($0.shown)" } ?? "yet"
        return "overdue by \(Duration.seconds(minutes * 60).text): no scheduler has run \(since)"
    }

    /// Returns text that follows the job's next time and a semicolon, if its schedule waits until
    /// the clock is where it was.
    static func setBack(until instant: Instant) -> String {
        "the clock was set back: the schedule goes on at \(instant.shown), "
            + "where it had been"
    }

    /// Returns text such as `waits for network: wanted connected, is not connected, since ...`.
    ///
    /// It does not say that the job's last run failed: `failure` does.
    static func words(_ facts: Facts) -> String {
        guard !facts.isDisabled, let status = facts.status else { return "is disabled" }
        if let open = status.open, open.state == .running {
            return isAbandoned(open)
                ? "ran when its scheduler ended; the next `loop` or `run --due` takes it over"
                : words(facts.pace, at: facts.now) ?? "runs now"
        }
        if let overdue = overdue(status, now: facts.now, lastLook: facts.lastLook) {
            return "is \(overdue)"
        }
        let waits = holding(status)
        if let open = status.open, let failure = open.failure, open.needs == nil {
            let others = waits.filter { $0.reason != .backoff || $0.group != nil }
            let tries = "\(RunReport.state(open, at: facts.now)): \(failure.reason)"
            return others.isEmpty ? tries : "\(tries); waits \(words(others, facts))"
        }
        guard !waits.isEmpty else {
            guard status.open == nil else { return "starts as soon as a scheduler runs" }
            let clock = status.setBackUntil.map { "; \(setBack(until: $0))" } ?? ""
            let next = status.nextStart.map { "is due \($0.shown)\(clock)" }
            return next ?? "starts by an event, after another job or by hand"
        }
        let lastTry = status.open?.failure.map { "; its last try: \($0.reason)" } ?? ""
        return "waits \(words(waits, facts))\(lastTry)"
    }

    private static func words(_ waits: [Deferral], _ facts: Facts) -> String {
        waits.map { deferral in
            deferral.wait
                + (facts.since[deferral.subject].map { ", since \($0.shown)" } ?? "")
        }.joined(separator: "; ")
    }

    /// Returns how long an attempt has been running, and whether that is slow; `nil` if nobody knows how
    /// long it should take.
    private static func words(_ pace: JobPace?, at now: Instant?) -> String? {
        guard let pace, let now, let words = pace.words(at: now) else { return nil }
        return (pace.isSlow(at: now) ? "is slow: running for " : "has been running for ") + words
    }

    /// Returns how the job's last run failed; `nil` if it succeeded, or if the job is disabled.
    static func failure(_ facts: Facts) -> JobFailure? {
        guard !facts.isDisabled, let end = facts.lastEnd, let reason = end.failure else {
            return nil
        }
        return JobFailure(run: end.run.rawValue, at: end.at, reason: reason.printable)
    }

    /// Returns whether the last attempt of the job's unfinished run failed, and another follows.
    static func isRetrying(_ facts: Facts) -> Bool {
        guard !facts.isDisabled, let open = facts.status?.open else { return false }
        return open.failure != nil && open.needs == nil
    }

    /// Returns whether a run of the job waits until somebody logs in.
    static func waitsForLogin(_ facts: Facts) -> Bool {
        guard !facts.isDisabled, let status = facts.status else { return false }
        return status.open?.state != .running
            && holding(status).contains { $0.subject == Constraint.login.name }
    }

    /// Returns whether something other than its schedule holds the job back.
    ///
    /// It does if the job is disabled or waits, if its last run failed, or if its running run is slow or
    /// has lost its scheduler.
    static func isHeldBack(_ facts: Facts) -> Bool {
        guard !facts.isDisabled, let status = facts.status else { return true }
        if let open = status.open, open.state == .running {
            return isAbandoned(open)
                || facts.now.flatMap { facts.pace?.isSlow(at: $0) } ?? false
        }
        return !holding(status).isEmpty || facts.lastEnd?.failure != nil
    }

    /// Returns whether the history says that the run is running, but its lease has lapsed.
    static func isAbandoned(_ run: Run) -> Bool { run.lease?.state == .lapsed }

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
}
