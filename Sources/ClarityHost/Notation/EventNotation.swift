import ClarityScheduler

/// An event as a JSON array: its name, then what it holds.
enum EventNotation {
    /// Writes an event; nothing of a reload, which brings jobs and not data: a decision tells by its
    /// origin what the jobs were after it.
    static func write(_ event: Planner.Event, to writer: inout NotationWriter) {
        if case .reload = event { return }
        writer.array { writer in
            switch event {
            case .reload: break
            case .tick: writer.text("tick")
            case .conditionsChanged: writer.text("conditions")
            case .requested(let jobs, let isForced):
                writer.text("requested")
                writer.jobs(jobs)
                writer.flag(isForced)
            case .retry(let run, let job):
                writer.text("retry")
                writer.integer(run.rawValue)
                writer.text(job.rawValue)
            case .cancel(let run):
                writer.text("cancel")
                writer.integer(run.rawValue)
            case .pause(let jobs, let until, let reason):
                writer.text("pause")
                writer.jobs(jobs)
                if let until { writer.instant(until) } else { writer.null() }
                writer.text(reason)
            case .resume(let jobs):
                writer.text("resume")
                writer.jobs(jobs)
            case .happened(let name):
                writer.text("happened")
                writer.text(name.rawValue)
            case .progressed(let run, let elapsed):
                writer.text("progressed")
                writer.integer(run.rawValue)
                writer.span(elapsed)
            case .finished(let run, let end):
                writer.text("finished")
                writer.integer(run.rawValue)
                write(end, to: &writer)
            case .drain: writer.text("drain")
            }
        }
    }

    static func read(_ reader: NotationReader) throws(NotationFault) -> Planner.Event {
        let parts = try reader.elements()
        guard let name = try parts.first?.text() else { throw reader.unexpected("an event") }
        switch (name, parts.count) {
        case ("tick", 1): return .tick
        case ("conditions", 1): return .conditionsChanged
        case ("drain", 1): return .drain
        case ("requested", 3):
            return .requested(try parts[1].jobs(), isForced: try parts[2].flag())
        case ("retry", 3): return .retry(try parts[1].run(), of: try parts[2].job())
        case ("cancel", 2): return .cancel(try parts[1].run())
        case ("pause", 4):
            let until = parts[2].isNull ? nil : try parts[2].instant()
            return .pause(try parts[1].jobs(), until: until, reason: try parts[3].text())
        case ("resume", 2): return .resume(try parts[1].jobs())
        case ("happened", 2): return .happened(try parts[1].choice())
        case ("progressed", 3):
            return .progressed(try parts[1].run(), at: try parts[2].span())
        case ("finished", 3): return .finished(try parts[1].run(), try end(parts[2]))
        default: throw reader.unexpected("an event")
        }
    }

    // MARK: Ends of attempts

    private static func write(_ end: AttemptEnd, to writer: inout NotationWriter) {
        writer.object { writer in
            writer.name("r")
            write(end.result, to: &writer)
            if !end.tally.isEmpty {
                writer.name("ta")
                writer.tally(end.tally)
            }
            if !end.notes.isEmpty {
                writer.name("no")
                writer.texts(end.notes)
            }
            if let checkpoint = end.checkpoint {
                writer.name("cp")
                writer.text(checkpoint)
            }
            if !end.events.isEmpty {
                writer.name("ev")
                writer.texts(end.events.sorted().map(\.rawValue))
            }
            if end.peakMemoryBytes != 0 {
                writer.name("m")
                writer.integer(end.peakMemoryBytes)
            }
        }
    }

    private static func write(_ result: AttemptEnd.Result, to writer: inout NotationWriter) {
        writer.array { writer in
            switch result {
            case .reported(.success): writer.text("success")
            case .reported(.retry(let wish, let failure)):
                writer.text("retry")
                if let wish { writer.span(wish) } else { writer.null() }
                writer.failure(failure)
            case .reported(.snooze(let span, let failure)):
                writer.text("snooze")
                writer.span(span)
                writer.failure(failure)
            case .reported(.awaits(let need, let failure)):
                writer.text("awaits")
                writer.text(need.rawValue)
                writer.failure(failure)
            case .reported(.failure(let failure)):
                writer.text("failure")
                writer.failure(failure)
            case .broke(.notStarted(let reason)):
                writer.text("notStarted")
                writer.text(reason)
            case .broke(.exitedWithoutReport(let status)):
                writer.text("exited")
                writer.integer(Int64(status))
            case .broke(.killedBySignal(let signal)):
                writer.text("killed")
                writer.integer(Int64(signal))
            case .broke(.malformedReport(let reason)):
                writer.text("malformed")
                writer.text(reason)
            case .broke(.memoryLimitExceeded(let limit, let measured)):
                writer.text("memory")
                writer.integer(limit)
                writer.integer(measured)
            case .broke(.leftProcessesBehind): writer.text("leftBehind")
            }
        }
    }

    private static func end(_ reader: NotationReader) throws(NotationFault) -> AttemptEnd {
        AttemptEnd(
            try result(try reader.member("r")), tally: try reader["ta"]?.tally() ?? Tally(),
            notes: try reader["no"]?.texts() ?? [], checkpoint: try reader["cp"]?.text(),
            events: Set(
                try reader["ev"]?.list { name throws(NotationFault) in try name.choice() } ?? []),
            peakMemoryBytes: try reader["m"]?.integer() ?? 0)
    }

    private static func result(
        _ reader: NotationReader
    ) throws(NotationFault) -> AttemptEnd.Result {
        let parts = try reader.elements()
        guard let name = try parts.first?.text() else { throw reader.unexpected("a result") }
        switch (name, parts.count) {
        case ("success", 1): return .reported(.success)
        case ("retry", 3):
            let wish = parts[1].isNull ? nil : try parts[1].span()
            return .reported(.retry(after: wish, try parts[2].failure()))
        case ("snooze", 3):
            return .reported(
                .snooze(after: try parts[1].span(), try parts[2].failure()))
        case ("awaits", 3):
            return .reported(.awaits(try parts[1].choice(), try parts[2].failure()))
        case ("failure", 2): return .reported(.failure(try parts[1].failure()))
        case ("notStarted", 2): return .broke(.notStarted(try parts[1].text()))
        case ("exited", 2):
            return .broke(.exitedWithoutReport(status: Int32(clamping: try parts[1].integer())))
        case ("killed", 2):
            return .broke(.killedBySignal(Int32(clamping: try parts[1].integer())))
        case ("malformed", 2): return .broke(.malformedReport(try parts[1].text()))
        case ("memory", 3):
            return .broke(
                .memoryLimitExceeded(
                    limitBytes: try parts[1].integer(), measuredBytes: try parts[2].integer()))
        case ("leftBehind", 1): return .broke(.leftProcessesBehind)
        default: throw reader.unexpected("a result")
        }
    }
}
