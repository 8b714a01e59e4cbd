import ClarityScheduler

// What `next` asks of the engine's values beyond their occurrences.

extension Schedule {
    /// The zone on whose clock it counts; `nil` where it needs none.
    var zone: Zone? {
        switch rule {
        case .cron(_, let zone), .calendar(_, let zone): zone
        case .every, .at: nil
        }
    }
}

extension Ledger {
    /// Where a job's `every` counts from; `nil` for a job that was never considered.
    func anchor(of job: JobID) -> Instant? { jobs[job]?.clock?.anchor }
}
