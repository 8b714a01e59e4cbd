import ClarityScheduler

/// The coming occurrences of one job, found one at a time.
struct JobOccurrences {
    /// The stretch around a change of offset that counts on each side of it.
    static let around = Duration.seconds(36 * 3600)
    /// How far ahead changes of offset are looked for: a year and the stretch around its end.
    static let horizon = Duration.seconds(400 * 86_400)

    let job: JobID
    /// The zone in which people read the job's times.
    let zone: Zone
    /// The coming changes of the zone's offset; `nil` where all occurrences are wanted.
    let changes: [Zone.Change]?

    private let schedule: Schedule
    private let anchor: Instant
    private var last: Instant
    private var changesLeft: ArraySlice<Zone.Change>

    /// Creates the occurrences strictly after `now`; with `aroundChanges`, only those close to a
    /// change of offset.
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

    /// What a change of offset has to do with an occurrence, for people; `nil` for nothing.
    ///
    /// It is about the time that the schedule's rule names, whatever delay comes on top of it.
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
