import ClarityHost
import Reports
import ClarityScheduler
import Platform

/// `next [JOB...]`: lists the next occurrences of jobs, in order of time.
struct NextCommand {
    private let composition: Composition
    private let isAroundChanges: Bool

    init(_ composition: Composition) {
        self.composition = composition
        isAroundChanges = composition.arguments.has("around-dst")
    }

    func run() throws(CommandFailure) -> ExitStatus {
        let limit = try composition.limit(1...10_000)
        let file = try composition.jobFile()
        let jobs = try jobs(file)
        let history = try composition.history(file)
        let ledger = try askingStore { () throws(RunStoreError) in try history.ledger() }
        let now = composition.clock.now
        let localZone = localZone()
        var withOccurrences: [JobOccurrences] = []
        for job in jobs {
            if file.disabled.contains(job.id) {
                note("\(job.id): \(file.held[job.id] ?? "`enabled: false` in the job file")")
            } else if let schedule = job.schedule {
                let setBackUntil = ledger.jobs[job.id]?.clock.flatMap {
                    schedule.setBackUntil($0, at: now)
                }
                if let setBackUntil {
                    note("\(job.id): \(JobStatusReport.setBack(until: setBackUntil))")
                }
                let occurrences = JobOccurrences(
                    of: job.id, schedule, anchor: ledger.anchor(of: job.id) ?? now,
                    after: setBackUntil ?? now,
                    zone: schedule.zone ?? localZone, aroundChanges: isAroundChanges)
                var first = occurrences
                if first.next() == nil {
                    note(absence(of: occurrences, after: now))
                } else {
                    withOccurrences.append(occurrences)
                }
            } else {
                let events = job.events.sorted().map(\.rawValue).joined(separator: ", ")
                note("\(job.id): no schedule" + (events.isEmpty ? "" : "; starts on \(events)"))
            }
        }
        show(
            MergedOccurrences(withOccurrences).prefix(limit).map {
                ($0.at, withOccurrences[$0.job])
            })
        return .done
    }

    /// Returns the named jobs, or all that the file declares if none is named, in its order.
    private func jobs(_ file: JobFile) throws(CommandFailure) -> [Job] {
        let names = composition.arguments.operands
        guard !names.isEmpty else {
            return file.jobs.filter { !file.implied.contains($0.id.declared) }
        }
        var wanted: Set<JobID> = []
        for name in names { wanted.insert(try composition.job(named: name, in: file).id) }
        return file.jobs.filter { wanted.contains($0.id) }
    }

    /// Returns the zone in which times without a zone of their own are shown.
    private func localZone() -> Zone {
        do {
            return try Composition.localZone(composition.environment)
        } catch {
            for line in error.lines { note("\(line); its times are shown in UTC") }
            return .utc
        }
    }

    private func absence(of occurrences: JobOccurrences, after now: Instant) -> String {
        guard let changes = occurrences.changes else {
            return "\(occurrences.job): no occurrence after \(now)"
        }
        let days = JobOccurrences.horizon.text
        guard !changes.isEmpty else {
            return "\(occurrences.job): no change of offset in \(occurrences.zone.identifier) "
                + "within \(days) of \(now)"
        }
        return "\(occurrences.job): no occurrence within \(JobOccurrences.around.text) of a change "
            + "of offset in \(occurrences.zone.identifier)"
    }

    private func show(_ occurrences: [(at: Instant, job: JobOccurrences)]) {
        let report = NextOccurrence.report
        composition.console.results(
            occurrences.map { NextOccurrence(at: $0.at, job: $0.job) },
            isAroundChanges ? report : report.without(["note"]))
    }

    /// Writes a remark for people; JSON output contains only occurrences.
    private func note(_ line: String) {
        if composition.console.form == .table { composition.console.note(line) }
    }
}

/// The next occurrence of a job.
struct NextOccurrence: Reported {
    let at: Instant
    let job: JobOccurrences

    static let report = Report<NextOccurrence>([
        Column("job", "id of the job") { $0.job.job.rawValue }.shown("JOB"),
        Column("at", "the occurrence") { $0.at }.shown("AT") {
            $0.job.zone.text(Instant(secondsSince1970: $0.at.secondsSince1970))
        },
        Column("local", "the occurrence in the time zone of the schedule") {
            $0.job.zone.text($0.at)
        }.shown("TIME ZONE") { $0.job.zone.identifier },
        Column("note", "what a clock change does to it; only with --around-dst") {
            $0.job.note(on: $0.at)
        }.shown("NOTE") { $0.job.note(on: $0.at) ?? "" },
    ])
}

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
