import ClarityScheduler

/// What is known of jobs, and of what waits or is in flight, as JSON with short names.
enum RecordNotation {
    static func write(_ record: JobRecord, to writer: inout NotationWriter) {
        writer.object { writer in
            if let clock = record.clock {
                writer.name("c")
                writer.array { writer in
                    writer.instant(clock.anchor)
                    writer.instant(clock.considered)
                    writer.text(clock.schedule)
                    writer.instant(clock.scheduleSince)
                    writer.integer(Int64(clock.era))
                }
            }
            if let finished = record.lastFinished {
                writer.name("l")
                writer.instant(finished)
            }
            if let pause = record.pause {
                writer.name("p")
                writer.array { writer in
                    writer.instant(pause.since)
                    if let until = pause.until { writer.instant(until) } else { writer.null() }
                    writer.text(pause.reason)
                }
            }
        }
    }

    static func record(_ reader: NotationReader) throws(NotationFault) -> JobRecord {
        var record = JobRecord(lastFinished: try reader["l"]?.instant())
        if let clock = try reader["c"]?.elements(5) {
            record.clock = JobClock(
                anchor: try clock[0].instant(), considered: try clock[1].instant(),
                era: try clock[4].count(), schedule: try clock[2].text(),
                scheduleSince: try clock[3].instant())
        }
        if let pause = try reader["p"]?.elements(3) {
            record.pause = Pause(
                since: try pause[0].instant(),
                until: pause[1].isNull ? nil : try pause[1].instant(), reason: try pause[2].text())
        }
        return record
    }

    static func write(_ deferral: Deferral, to writer: inout NotationWriter) {
        writer.array { writer in
            writer.text(deferral.reason.rawValue)
            writer.text(deferral.subject)
            writer.text(deferral.wanted)
            writer.text(deferral.measured)
            writer.text(deferral.source)
        }
    }

    static func deferral(_ reader: NotationReader) throws(NotationFault) -> Deferral {
        let parts = try reader.elements(5)
        return Deferral(
            try parts[0].choice(), subject: try parts[1].text(), wanted: try parts[2].text(),
            measured: try parts[3].text(), source: try parts[4].text())
    }

    /// Writes an attempt; its origin only where it is not that of the decision.
    static func write(
        _ attempt: AttemptRecord, of origin: String, to writer: inout NotationWriter
    ) {
        writer.object { writer in
            writer.name("j")
            writer.text(attempt.job.rawValue)
            if attempt.origin != origin {
                writer.name("o")
                writer.text(attempt.origin)
            }
            writer.name("n")
            writer.integer(Int64(attempt.number))
            writer.name("s")
            writer.instant(attempt.startedAt)
            writer.name("t")
            writer.array { writer in
                writer.span(attempt.warnAt)
                writer.span(attempt.killAt)
                writer.span(attempt.progressAt)
                if let lost = attempt.lostAt { writer.span(lost) } else { writer.null() }
            }
            if let stop = attempt.stop {
                writer.name("sr")
                writer.text(stop.rawValue)
            }
            if attempt.isForced { flag("fo", to: &writer) }
            if attempt.isWarned { flag("w", to: &writer) }
            if attempt.isKilled { flag("k", to: &writer) }
        }
    }

    static func attempt(
        _ reader: NotationReader, of origin: String
    ) throws(NotationFault) -> AttemptRecord {
        let times = try reader.member("t").elements(4)
        return AttemptRecord(
            job: try reader.member("j").job(), origin: try reader["o"]?.text() ?? origin,
            number: try reader.member("n").count(), startedAt: try reader.member("s").instant(),
            isForced: try reader["fo"]?.flag() ?? false, warnAt: try times[0].span(),
            killAt: try times[1].span(), progressAt: try times[2].span(),
            lostAt: times[3].isNull ? nil : try times[3].span(), stop: try reader["sr"]?.choice(),
            isWarned: try reader["w"]?.flag() ?? false, isKilled: try reader["k"]?.flag() ?? false)
    }

    private static func flag(_ name: StaticString, to writer: inout NotationWriter) {
        writer.name(name)
        writer.flag(true)
    }
}
