import ClarityScheduler

/// The next occurrences of one job, computed one at a time.
struct JobOccurrences {
    /// How far from a clock change an occurrence may be, before or after it, to count as close.
    static let around = Duration.seconds(36 * 3600)
    /// How far ahead clock changes are searched: a year, and the time around its end.
    static let horizon = Duration.seconds(400 * 86_400)

    let job: JobID
    /// The zone in which the job's times are shown.
    let zone: Zone
    /// The coming clock changes of the zone; `nil` if all occurrences are wanted.
    let changes: [Zone.Change]?

    private let schedule: Schedule
    private let anchor: Instant
    private var last: Instant
    private var changesLeft: ArraySlice<Zone.Change>

    /// Creates the occurrences strictly after `now`; with `aroundChanges`, only those close to a
    /// clock change.
    init(
        of job: JobID, _ schedule: Schedule, anchor: Instant, after now: Instant, zone: Zone,
        aroundChanges: Bool
    ) {
        self.job = job
        self.schedule = schedule
        self.anchor = anchor
        self.zone = zone
        last = now
        changes = aroundChanges ? zone.changes(in: now..<now + JobOccurrences.horizon) : nil
        changesLeft = (changes ?? [])[...]
    }

    mutating func next() -> Instant? {
        guard changes != nil else {
            guard let found = schedule.next(after: last, anchor: anchor) else { return nil }
            last = found
            return found
        }
        while let change = changesLeft.first {
            let start = change.at - JobOccurrences.around - .milliseconds(1)
            if let found = schedule.next(after: max(last, start), anchor: anchor),
                found <= change.at + JobOccurrences.around
            {
                last = found
                return found
            }
            changesLeft.removeFirst()
        }
        return nil
    }

    /// Returns what a clock change does to an occurrence, for the user; `nil` if nothing.
    ///
    /// The note is about the time that the schedule's rule names, without the delay added to it.
    func note(on occurrence: Instant) -> String? {
        let named = occurrence - schedule.delay
        if changes?.contains(where: { $0.at == named && $0.isForward }) == true {
            return "after the skipped hour"
        }
        let local = named + zone.offset(at: named)
        switch zone.resolve(CivilTime(local.millisecondsSince1970)) {
        case .twice(named, _): return "the first of the repeated hour"
        case .twice(_, named): return "the second of the repeated hour"
        case .twice, .once, .skipped: return nil
        }
    }
}
