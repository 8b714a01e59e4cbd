import ClarityScheduler

// Properties of schedules and ledgers that `next` needs besides the occurrences.

extension Schedule {
    /// The zone whose local time the schedule follows; `nil` if it needs none.
    var zone: Zone? {
        switch rule {
        case .cron(_, let zone), .calendar(_, let zone): zone
        case .every, .at: nil
        }
    }
}

extension Ledger {
    /// Returns the instant from which a job's `every` counts; `nil` for a job that was never
    /// considered.
    func anchor(of job: JobID) -> Instant? { jobs[job]?.clock?.anchor }
}
