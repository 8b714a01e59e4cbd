import ClarityScheduler
import Database

/// Checks that each occurrence has exactly one fate: a run of its own, or a share in a row of
/// `occurrence_fates`.
struct OccurrenceAudit {
    let connection: Connection

    /// One run, or one row of counted occurrences.
    private struct Fate {
        var due: DueOccurrences
        /// The name that messages use.
        var name: String
    }

    func findings(_ jobs: JobSet) throws(DatabaseError) -> [AuditFinding] {
        var findings: [AuditFinding] = []
        for job in jobs.jobs {
            guard let schedule = job.schedule else { continue }
            findings += try self.findings(job.id, schedule)
        }
        return findings
    }

    private func findings(
        _ job: JobID, _ schedule: Schedule
    ) throws(DatabaseError) -> [AuditFinding] {
        let known = try connection.first(
            "SELECT \(JobRecordRow.columns), pruned_until_ms FROM job_records WHERE job_id = ?",
            .text(job.rawValue)
        ) { row in
            let last = Int32(JobRecordRow.Column.allCases.count)
            return (JobRecordRow.record(row).clock, pruned: row.optionalInstant(last))
        }
        // The current schedule does not determine the occurrences of an earlier one.
        guard case (let clock?, let pruned)? = known, clock.schedule == "\(schedule)"
        else { return [] }
        let start = max(clock.scheduleSince, pruned ?? clock.scheduleSince)
        return judge(
            try fates(of: job, era: Int64(clock.era), after: start), schedule, job, clock,
            after: start)
    }

    private func judge(
        _ fates: [Fate], _ schedule: Schedule, _ job: JobID, _ clock: JobClock,
        after start: Instant
    ) -> [AuditFinding] {
        var findings: [AuditFinding] = []
        func offend(_ text: String) {
            findings.append(AuditFinding(.occurrences, "job `\(job)`: \(text)"))
        }
        func expectNone(after: Instant, through: Instant) {
            guard let due = schedule.due(after: after, through: through, anchor: clock.anchor)
            else { return }
            offend(
                due.count == 1
                    ? "the occurrence at \(due.first) has no fate"
                    : "\(due.count) occurrences from \(due.first) to \(due.latest) have no fate")
        }
        var settled = start
        for fate in fates {
            let due = fate.due
            if due.first <= settled {
                offend("the occurrence at \(due.first) has another fate beside \(fate.name)")
            } else {
                expectNone(after: settled, through: due.first - .milliseconds(1))
            }
            let named = schedule.due(
                after: due.first - .milliseconds(1), through: due.latest, anchor: clock.anchor)
            if named != due {
                offend(
                    due.first == due.latest
                        ? "\(fate.name) is for \(due.first), which the schedule does not name"
                        : "\(fate.name) counts \(due.count) occurrences from \(due.first) to "
                            + "\(due.latest), the schedule names \(named?.count ?? 0)")
            }
            settled = max(settled, due.latest)
        }
        if settled > max(clock.considered, start) {
            offend("what comes after \(clock.considered) has its fate before its time")
        }
        expectNone(after: settled, through: clock.considered)
        return findings
    }

    /// Returns the fates of one era after an instant, in order of time.
    private func fates(
        of job: JobID, era: Int64, after start: Instant
    ) throws(DatabaseError) -> [Fate] {
        let runs = try connection.all(
            """
            SELECT id, scheduled_for_ms FROM runs
            WHERE job_id = ? AND era = ? AND \(RunRow.ofOccurrence)
                AND scheduled_for_ms > ?
            ORDER BY scheduled_for_ms, id
            """, .text(job.rawValue), .integer(era), .instant(start)
        ) { row in
            let instant = Instant(millisecondsSince1970: row.integer(1))
            return Fate(
                due: DueOccurrences(first: instant, latest: instant, count: 1),
                name: "run \(row.integer(0))")
        }
        let counted = try connection.all(
            """
            SELECT first_ms, latest_ms, occurrences, fate FROM occurrence_fates
            WHERE job_id = ? AND era = ? AND first_ms > ? ORDER BY first_ms
            """, .text(job.rawValue), .integer(era), .instant(start)
        ) { row in
            Fate(
                due: DueOccurrences(
                    first: Instant(millisecondsSince1970: row.integer(0)),
                    latest: Instant(millisecondsSince1970: row.integer(1)),
                    count: Int(row.integer(2))), name: "what is \(row.text(3))")
        }
        return (runs + counted).sorted {
            ($0.due.first, $0.due.latest) < ($1.due.first, $1.due.latest)
        }
    }
}
