import ClarityScheduler
import Database

/// A run as a row of `runs`.
enum RunRow {
    enum Column: String, RowColumn {
        case id, job_id, kind, trigger, state, scheduled_for_ms, enqueued_at_ms, not_before_ms
        case is_expedited, is_forced, attempts, failures, interruptions, generation, lease_owner
        case started_at_ms, finished_at_ms, checkpoint, caused_by, failure_category
        case failure_reason, stop_reason, tally, notes, lease_boot, lease_expires_ms, stop_request
        case needs, awaits, latest_occurrence_ms, parameters
    }

    /// The unfinished runs, as text that follows `FROM`.
    ///
    /// Names the index: unfinished runs are few, but SQLite would scan all runs to avoid a sort.
    static let open = "runs INDEXED BY runs_open WHERE (state = 'enqueued' OR state = 'running')"

    /// An SQL condition on a row: its run stands for an occurrence, as in the index
    /// `runs_one_an_occurrence`.
    static let ofOccurrence = "(trigger = 'schedule' OR trigger = 'catchUp')"

    /// Returns an SQL expression for how often the clock of a job was set back; the job is
    /// parameter `number`.
    static func eraOfJob(_ number: Int) -> String {
        "coalesce((SELECT era FROM job_records WHERE job_id = ?\(number)), 0)"
    }

    private static let columns = Column.list

    /// Calls `body` with each run that a query returns, and its row; the query continues
    /// `SELECT ... FROM`.
    ///
    /// - Throws: `RunStoreError.unusable` if a run cannot be read, after the last row.
    static func forEach(
        _ query: String, _ values: [Value], _ connection: Connection,
        _ body: (Run, borrowing Row) -> Void
    ) throws {
        var fault: RunStoreError?
        try connection.forEach("SELECT \(columns) FROM \(query)", values) { row in
            do throws(RunStoreError) {
                body(try run(row), row)
            } catch {
                fault = error
            }
        }
        if let fault { throw fault }
    }

    private static func run(_ row: borrowing Row) throws(RunStoreError) -> Run {
        guard let job = JobID(row.text(Column.job_id)),
            let trigger: Trigger = row.word(Column.trigger),
            let state: RunState = row.word(Column.state)
        else { throw .unusable("run \(row.integer(Column.id)) of the history cannot be read") }
        var run = Run(
            id: RunID(row.integer(Column.id)), job: job, kind: JobKind(row.text(Column.kind)),
            trigger: trigger, scheduledFor: row.instant(Column.scheduled_for_ms),
            enqueuedAt: row.instant(Column.enqueued_at_ms),
            isExpedited: row.integer(Column.is_expedited) != 0,
            isForced: row.integer(Column.is_forced) != 0,
            causedBy: row.optionalInteger(Column.caused_by).map { RunID($0) })
        run.state = state
        run.notBefore = row.optionalInstant(Column.not_before_ms)
        run.attempts = Int(row.integer(Column.attempts))
        run.failures = Int(row.integer(Column.failures))
        run.interruptions = Int(row.integer(Column.interruptions))
        run.fencingToken = row.integer(Column.generation)
        run.lease = row.optionalText(Column.lease_owner).map { Lease(owner: $0, state: .held) }
        run.startedAt = row.optionalInstant(Column.started_at_ms)
        run.finishedAt = row.optionalInstant(Column.finished_at_ms)
        run.checkpoint = row.optionalText(Column.checkpoint)
        if let reason = row.optionalText(Column.failure_reason) {
            run.failure = Failure(row.word(Column.failure_category) ?? .internalFault, reason)
        }
        run.stopReason = row.word(Column.stop_reason)
        run.tally = TallyText.tally(row.text(Column.tally))
        run.notes = NotesText.notes(row.text(Column.notes))
        let need = row.optionalText(Column.needs) ?? row.optionalText(Column.awaits)
        run.needs = need.flatMap { NeededCondition(rawValue: $0) }
        run.latestOccurrence = row.optionalInstant(Column.latest_occurrence_ms)
        run.stopRequest = row.word(Column.stop_request)
        run.parameters = ParametersText.values(row.optionalText(Column.parameters))
        return run
    }

    /// The words that the CHECK of `needs` allows; `awaits` has those that were added later.
    private static let firstNeeds: Set<NeededCondition> = [.externalPower, .unmetered]

    static func put(_ run: Run, _ connection: Connection) throws(DatabaseError) {
        let values = Column.allCases.map { column -> Value in
            switch column {
            case .id: .integer(run.id.rawValue)
            case .job_id: .text(run.job.rawValue)
            case .kind: .text(run.kind.rawValue)
            case .trigger: .text(run.trigger.rawValue)
            case .state: .text(run.state.rawValue)
            case .scheduled_for_ms: .instant(run.scheduledFor)
            case .enqueued_at_ms: .instant(run.enqueuedAt)
            case .not_before_ms: .instant(run.notBefore)
            case .is_expedited: .integer(run.isExpedited ? 1 : 0)
            case .is_forced: .integer(run.isForced ? 1 : 0)
            case .attempts: .integer(Int64(run.attempts))
            case .failures: .integer(Int64(run.failures))
            case .interruptions: .integer(Int64(run.interruptions))
            case .generation: .integer(run.fencingToken)
            case .lease_owner: .text(run.lease?.owner)
            case .started_at_ms: .instant(run.startedAt)
            case .finished_at_ms: .instant(run.finishedAt)
            case .checkpoint: .text(run.checkpoint)
            case .caused_by: .integer(run.causedBy?.rawValue)
            case .failure_category: .text(run.failure?.category.rawValue)
            case .failure_reason: .text(run.failure?.reason)
            case .stop_reason: .text(run.stopReason?.rawValue)
            case .tally: .text(TallyText.text(run.tally))
            case .notes: .text(NotesText.text(run.notes))
            // Locks say how long a lease lasts. A version that goes by the time finds that this one
            // never ends.
            case .lease_boot: run.lease == nil ? .null : .text("")
            case .lease_expires_ms: run.lease == nil ? .null : .integer(.max)
            case .stop_request: .text(run.stopRequest?.rawValue)
            case .needs: .text(run.needs.flatMap { firstNeeds.contains($0) ? $0.rawValue : nil })
            case .awaits: .text(run.needs.flatMap { firstNeeds.contains($0) ? nil : $0.rawValue })
            case .latest_occurrence_ms: .instant(run.latestOccurrence)
            case .parameters: .text(ParametersText.text(run.parameters))
            }
        }
        try connection.run(upsert, with: values)
    }

    private static let upsert = """
        INSERT INTO runs (\(columns), era) VALUES (\(Column.parameters), \(eraOfJob(2)))
        ON CONFLICT (id) DO UPDATE SET \(Column.replacements(besides: fixed))
        """

    /// The columns that never change.
    private static let fixed: [Column] = [
        .id, .job_id, .kind, .trigger, .scheduled_for_ms, .enqueued_at_ms, .caused_by, .parameters,
    ]
}

extension Row {
    func instant(_ column: some RowColumn) -> Instant { instant(column.position) }

    func instant(_ column: Int32) -> Instant { Instant(millisecondsSince1970: integer(column)) }

    func optionalInstant(_ column: some RowColumn) -> Instant? {
        optionalInstant(column.position)
    }

    func optionalInstant(_ column: Int32) -> Instant? {
        optionalInteger(column).map { Instant(millisecondsSince1970: $0) }
    }

    /// The column as one of the words that a type has; `nil` for NULL and for any other text.
    func word<Word: RawRepresentable<String>>(_ column: some RowColumn) -> Word? {
        optionalText(column).flatMap { Word(rawValue: $0) }
    }
}

extension Value {
    static func instant(_ instant: Instant?) -> Value {
        .integer(instant?.millisecondsSince1970)
    }
}

/// A tally as text, `name=count` joined by spaces; names contain neither a space nor `=`.
enum TallyText {
    static func text(_ tally: Tally) -> String {
        tally.names.map { "\($0)=\(tally[$0])" }.joined(separator: " ")
    }

    static func tally(_ text: String) -> Tally {
        var tally = Tally()
        for pair in text.split(separator: " ") {
            let parts = pair.split(separator: "=")
            guard parts.count == 2, let count = Int64(parts[1]) else { continue }
            tally[String(parts[0])] = count
        }
        return tally
    }
}

/// Notes as text, one per line. A line feed is written as `\n`, a backslash is doubled, and an
/// empty note is `\0`.
enum NotesText {
    static func text(_ notes: [String]) -> String {
        if notes.isEmpty { return "" }
        return notes.map { note in
            note.isEmpty ? #"\0"# : escapedLine(note)
        }.joined(separator: "\n")
    }

    static func notes(_ text: String) -> [String] {
        // By scalar: `\r\n` is one character.
        text.unicodeScalars.split(separator: "\n").map { line in
            line.elementsEqual(#"\0"#.unicodeScalars) ? "" : unescapedLine(line)
        }
    }
}

/// The values of parameters as text, `NAME=VALUE` one per line; `nil` for none.
enum ParametersText {
    static func text(_ values: [String: String]) -> String? {
        guard !values.isEmpty else { return nil }
        return NotesText.text(values.map { "\($0.key)=\($0.value)" }.sorted())
    }

    static func values(_ text: String?) -> [String: String] {
        let lines = NotesText.notes(text ?? "").joined(separator: "\u{0}")
        return [String: String](optionText: lines) ?? [:]
    }
}

/// An attempt as a row of `attempts`.
enum AttemptRow {
    enum Column: String, RowColumn {
        case run_id, number, started_at_ms, finished_at_ms, result, stop_reason, reason, tally
        case peak_memory_bytes
    }

    static func attempt(_ row: borrowing Row) -> Attempt {
        Attempt(
            run: RunID(row.integer(Column.run_id)), number: Int(row.integer(Column.number)),
            startedAt: row.instant(Column.started_at_ms),
            finishedAt: row.optionalInstant(Column.finished_at_ms),
            result: Attempt.Result(rawValue: row.text(Column.result)) ?? .running,
            stopReason: row.word(Column.stop_reason), reason: row.optionalText(Column.reason),
            tally: TallyText.tally(row.text(Column.tally)),
            peakMemoryBytes: row.integer(Column.peak_memory_bytes))
    }

    static func put(_ attempt: Attempt, _ connection: Connection) throws(DatabaseError) {
        try connection.run(
            upsert, .integer(attempt.run.rawValue), .integer(Int64(attempt.number)),
            .instant(attempt.startedAt), .instant(attempt.finishedAt),
            .text(attempt.result.rawValue), .text(attempt.stopReason?.rawValue),
            .text(attempt.reason), .text(TallyText.text(attempt.tally)),
            .integer(attempt.peakMemoryBytes))
    }

    private static let upsert = """
        INSERT INTO attempts (\(Column.list)) VALUES (\(Column.parameters))
        ON CONFLICT (run_id, number) DO UPDATE SET
            \(Column.replacements(besides: [.run_id, .number, .started_at_ms]))
        """
}

/// The output of an attempt's program, as a row of `attempt_outputs`.
enum OutputRow {
    enum Column: String, RowColumn { case run_id, number, head, left_out_bytes, tail }

    /// Writes the attempt's output; without one, changes nothing.
    static func put(_ attempt: Attempt, _ connection: Connection) throws(DatabaseError) {
        guard let output = attempt.output else { return }
        try connection.run(
            """
            INSERT INTO attempt_outputs (\(Column.list)) VALUES (\(Column.parameters))
            ON CONFLICT (run_id, number) DO UPDATE SET
                \(Column.replacements(besides: [.run_id, .number]))
            """,
            .integer(attempt.run.rawValue), .integer(Int64(attempt.number)), .blob(output.head),
            .integer(output.leftOutBytes), .blob(output.tail))
    }

    /// Returns the outputs of a run's attempts, by attempt number.
    static func outputs(
        of run: RunID, _ connection: Connection
    ) throws(DatabaseError) -> [Int: AttemptOutput] {
        var outputs: [Int: AttemptOutput] = [:]
        try connection.forEach(
            "SELECT \(Column.list) FROM attempt_outputs WHERE run_id = ?", [.integer(run.rawValue)]
        ) { row in
            outputs[Int(row.integer(Column.number))] = AttemptOutput(
                head: row.blob(Column.head), leftOutBytes: row.integer(Column.left_out_bytes),
                tail: row.blob(Column.tail))
        }
        return outputs
    }
}

/// The machine on which an attempt ran, as a row of `attempt_machines`.
enum MachineRow {
    static func put(
        _ machine: String, of attempt: Attempt, _ connection: Connection
    ) throws(DatabaseError) {
        try connection.run(
            """
            INSERT INTO attempt_machines (run_id, number, machine) VALUES (?, ?, ?)
            ON CONFLICT (run_id, number) DO UPDATE SET machine = excluded.machine
            """,
            .integer(attempt.run.rawValue), .integer(Int64(attempt.number)), .text(machine))
    }

    /// Returns the machines of a run's attempts, by attempt number.
    static func machines(
        of run: RunID, _ connection: Connection
    ) throws(DatabaseError) -> [Int: String] {
        var machines: [Int: String] = [:]
        try connection.forEach(
            "SELECT number, machine FROM attempt_machines WHERE run_id = ?",
            [.integer(run.rawValue)]
        ) { machines[Int($0.integer(0))] = $0.text(1) }
        return machines
    }
}
