import ClarityScheduler

/// A run as a JSON object with short names; what is as in a new run of a schedule is left out.
enum RunNotation {
    static func write(_ run: Run, to writer: inout NotationWriter) {
        writer.object { writer in
            writer.name("i")
            writer.integer(run.id.rawValue)
            writer.name("j")
            writer.text(run.job.rawValue)
            writer.name("k")
            writer.text(run.kind.rawValue)
            writer.name("f")
            writer.instant(run.scheduledFor)
            writer.name("q")
            writer.instant(run.enqueuedAt)
            if run.trigger != .schedule {
                writer.name("t")
                writer.text(run.trigger.rawValue)
            }
            if run.state != .enqueued {
                writer.name("s")
                writer.text(run.state.rawValue)
            }
            writeWishes(run, to: &writer)
            writeAttempts(run, to: &writer)
            writeEnd(run, to: &writer)
        }
    }

    private static func writeWishes(_ run: Run, to writer: inout NotationWriter) {
        if let notBefore = run.notBefore {
            writer.name("nb")
            writer.instant(notBefore)
        }
        if let needs = run.needs {
            writer.name("ne")
            writer.text(needs.rawValue)
        }
        if run.isExpedited {
            writer.name("x")
            writer.flag(true)
        }
        if run.isForced {
            writer.name("fo")
            writer.flag(true)
        }
        if let cause = run.causedBy {
            writer.name("cb")
            writer.integer(cause.rawValue)
        }
        if let request = run.stopRequest {
            writer.name("rq")
            writer.text(request.rawValue)
        }
    }

    private static func writeAttempts(_ run: Run, to writer: inout NotationWriter) {
        guard
            run.attempts != 0 || run.failures != 0 || run.interruptions != 0
                || run.generation != 0
        else { return }
        writer.name("a")
        writer.array { writer in
            writer.integer(Int64(run.attempts))
            writer.integer(Int64(run.failures))
            writer.integer(Int64(run.interruptions))
            writer.integer(run.generation)
        }
    }

    private static func writeEnd(_ run: Run, to writer: inout NotationWriter) {
        if let lease = run.lease {
            writer.name("l")
            writer.array { writer in
                writer.text(lease.owner)
                writer.text(lease.standing.rawValue)
            }
        }
        if let started = run.startedAt {
            writer.name("st")
            writer.instant(started)
        }
        if let finished = run.finishedAt {
            writer.name("fi")
            writer.instant(finished)
        }
        if let checkpoint = run.checkpoint {
            writer.name("cp")
            writer.text(checkpoint)
        }
        if let failure = run.failure {
            writer.name("fa")
            writer.failure(failure)
        }
        if let reason = run.stopReason {
            writer.name("sr")
            writer.text(reason.rawValue)
        }
        if !run.tally.isEmpty {
            writer.name("ta")
            writer.tally(run.tally)
        }
        if !run.notes.isEmpty {
            writer.name("no")
            writer.texts(run.notes)
        }
    }

    static func read(_ reader: NotationReader) throws(NotationFault) -> Run {
        var run = Run(
            id: try reader.member("i").run(), job: try reader.member("j").job(),
            kind: JobKind(try reader.member("k").text()),
            trigger: try NotationReader.choice(reader["t"], standard: .schedule),
            scheduledFor: try reader.member("f").instant(),
            enqueuedAt: try reader.member("q").instant(),
            isExpedited: try reader["x"]?.flag() ?? false,
            isForced: try reader["fo"]?.flag() ?? false, causedBy: try reader["cb"]?.run())
        run.state = try NotationReader.choice(reader["s"], standard: .enqueued)
        run.notBefore = try reader["nb"]?.instant()
        run.needs = try reader["ne"]?.choice()
        run.stopRequest = try reader["rq"]?.choice()
        if let counts = try reader["a"]?.elements(4) {
            run.attempts = try counts[0].count()
            run.failures = try counts[1].count()
            run.interruptions = try counts[2].count()
            run.generation = try counts[3].integer()
        }
        if let lease = try reader["l"]?.elements(2) {
            run.lease = Lease(owner: try lease[0].text(), standing: try lease[1].choice())
        }
        run.startedAt = try reader["st"]?.instant()
        run.finishedAt = try reader["fi"]?.instant()
        run.checkpoint = try reader["cp"]?.text()
        run.failure = try reader["fa"]?.failure()
        run.stopReason = try reader["sr"]?.choice()
        run.tally = try reader["ta"]?.tally() ?? Tally()
        run.notes = try reader["no"]?.texts() ?? []
        return run
    }
}
