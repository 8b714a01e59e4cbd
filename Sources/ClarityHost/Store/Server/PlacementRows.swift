import ClarityScheduler
import Database
import JSON

/// What loops share about their machines, and the attempts that the leader has placed on them, as
/// rows of `machines` and `placements`.
struct PlacementRows {
    /// What a follower sends to the leader: the name of no loop.
    static let toLeader = "-"

    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    // MARK: Placements

    /// Returns the ledger of a follower: the runs that are placed on it.
    ///
    /// The rows stay as they are until the end of the transaction.
    ///
    /// - Throws: `ServerPeers.sessionHasEnded` if the leader may have taken them back.
    func ledger(of owner: String) throws -> Ledger {
        let lives = try connection.integer(
            "SELECT CAST(? AS text) IN \(SessionMark.living)", .text(SessionMark.of(owner)))
        guard lives == 1 else { throw ServerPeers.sessionHasEnded }
        let placements = try placements(of: owner, isDeciding: true, reportsToo: false)
        var runs: [Run] = []
        if !placements.isEmpty {
            try RunRow.forEach(
                "runs WHERE id IN (SELECT run_id FROM placements WHERE owner = ?)", [.text(owner)],
                connection
            ) { run, _ in
                guard var lease = run.lease, lease.owner == owner else { return }
                var run = run
                lease.state = .mine
                run.lease = lease
                runs.append(run)
            }
        }
        var ledger = Ledger(jobs: [:], open: runs)
        ledger.role = .follower
        ledger.placements = placements.filter { ledger.open[$0.key] != nil }
        return ledger
    }

    /// Returns what is placed on a loop, or on any.
    ///
    /// - Parameters:
    ///   - isDeciding: whether nobody changes it until the end of the transaction.
    ///   - reportsToo: whether to return what has been declined or has ended.
    /// - Throws: `RunStoreError.unusable` for a report that cannot be read.
    func placements(
        of owner: String? = nil, isDeciding: Bool, reportsToo: Bool
    ) throws -> [RunID: Placement] {
        var placements: [RunID: Placement] = [:]
        var fault: RunID?
        try connection.forEach(
            """
            SELECT run_id, number, owner, state, report, head, left_out_bytes, tail FROM placements
            WHERE (owner = ?1 OR CAST(?1 AS text) IS NULL) \(reportsToo ? "" : "AND report IS NULL")
            ORDER BY run_id \(isDeciding ? "FOR UPDATE" : "")
            """, [.text(owner)]
        ) { row in
            let run = RunID(row.integer(0))
            guard let state = PlacementRows.state(row) else {
                fault = run
                return
            }
            placements[run] = Placement(
                run: run, number: Int(row.integer(1)), owner: row.text(2), state: state)
        }
        if let fault {
            throw RunStoreError.unusable("the end of run \(fault) on its machine cannot be read")
        }
        return placements
    }

    private static func state(_ row: borrowing Row) -> Placement.State? {
        switch row.text(3) {
        case "offered": return .offered
        case "taken": return .taken
        case "declined": return .declined(row.text(4))
        default:
            guard var report = PlacedEndText.end(row.text(4)) else { return nil }
            if let leftOut = row.optionalInteger(6) {
                report.end.output = AttemptOutput(
                    head: row.blob(5), leftOutBytes: leftOut, tail: row.blob(7))
            }
            return .ended(report)
        }
    }

    func write(_ change: PlacementChange) throws(DatabaseError) {
        switch change {
        case .place(let placement):
            try connection.run(
                """
                INSERT INTO placements (run_id, number, owner, state) VALUES (?, ?, ?, 'offered')
                ON CONFLICT (run_id) DO UPDATE SET number = excluded.number,
                    owner = excluded.owner, state = 'offered', report = NULL, head = NULL,
                    left_out_bytes = NULL, tail = NULL
                """, .integer(placement.run.rawValue), .integer(Int64(placement.number)),
                .text(placement.owner))
        case .unplace(let run):
            try connection.run("DELETE FROM placements WHERE run_id = ?", .integer(run.rawValue))
        case .answer(let placement): try write(placement)
        case .publish(let machine): try write(machine)
        }
    }

    private func write(_ placement: Placement) throws(DatabaseError) {
        let (state, report, output): (String, String?, AttemptOutput?) =
            switch placement.state {
            case .offered: ("offered", nil, nil)
            case .taken: ("taken", nil, nil)
            case .declined(let reason): ("declined", reason, nil)
            case .ended(let end): ("ended", PlacedEndText.text(end), end.end.output)
            }
        try connection.run(
            """
            UPDATE placements SET state = ?, report = ?, head = ?, left_out_bytes = ?, tail = ?
            WHERE run_id = ? AND number = ? AND owner = ? AND report IS NULL
            """, .text(state), .text(report), output.map { .blob($0.head) } ?? .null,
            .integer(output?.leftOutBytes), output.map { .blob($0.tail) } ?? .null,
            .integer(placement.run.rawValue), .integer(Int64(placement.number)),
            .text(placement.owner))
    }

    // MARK: Machines

    /// Returns what a loop has published; `nil` if it cannot be read, as from a later version.
    func machine(of owner: String) throws(DatabaseError) -> Machine? {
        try connection.first(
            "SELECT name, labels, places, conditions, sources FROM machines WHERE owner = ?",
            .text(owner)
        ) { row -> Machine? in
            let name = row.text(0)
            guard let sources = ReachedSources(text: row.text(4)) else { return nil }
            do {
                guard case .object(let members) = try JSONParser.parse(Array(row.text(3).utf8))
                else { return nil }
                return Machine(
                    owner: owner, name: name,
                    labels: Set(row.text(1).split(separator: " ").map(String.init)),
                    places: Int(row.integer(2)),
                    conditions: try ConditionsNotation.read(members, source: name).from(name),
                    sources: sources)
            } catch {
                // It gets no attempts.
                return nil
            }
        }
    }

    /// Removes what a loop has published and told that is gone.
    func remove(loop owner: String) throws(DatabaseError) {
        try connection.run("DELETE FROM machines WHERE owner = ?", .text(owner))
        try connection.run("DELETE FROM progress WHERE owner = ?", .text(owner))
    }

    private func write(_ machine: Machine) throws(DatabaseError) {
        try connection.run(
            """
            INSERT INTO machines (owner, mark, name, labels, places, conditions, sources, revision)
            VALUES (?, ?, ?, ?, ?, ?, ?, 1)
            ON CONFLICT (owner) DO UPDATE SET labels = excluded.labels, places = excluded.places,
                conditions = excluded.conditions, sources = excluded.sources,
                revision = machines.revision + 1
            """, .text(machine.owner), .text(SessionMark.of(machine.owner)), .text(machine.name),
            .text(machine.labels.sorted().joined(separator: " ")),
            .integer(Int64(machine.places)),
            .text(JSON.object(ConditionsNotation.members(machine.conditions)).line),
            .text(machine.sources.text))
    }
}

extension ReachedSources {
    /// `only:` or `all_but:`, which are no names of accounts, and the accounts.
    fileprivate var text: String {
        let (word, accounts) =
            switch self {
            case .only(let reached): ("only:", reached)
            case .allBut(let missing): ("all_but:", missing)
            }
        return ([word] + accounts.map(\.rawValue).sorted()).joined(separator: " ")
    }

    fileprivate init?(text: String) {
        let words = text.split(separator: " ")
        let accounts = Set(words.dropFirst().compactMap { AccountID($0) })
        switch words.first {
        case "only:": self = .only(accounts)
        case "all_but:": self = .allBut(accounts)
        default: return nil
        }
    }
}

extension [LedgerChange] {
    /// The marks of the loops on which these changes place something or from which they take it,
    /// as the payload of a notification; empty if anybody may be concerned.
    var concerned: String {
        var marks: Set<String> = []
        for change in self {
            switch change {
            case .requestStop: return ""
            case .placing(.place(let placement)): marks.insert(SessionMark.of(placement.owner))
            case .putAttempt(let attempt) where attempt.stopReason == .leaseLost: return ""
            default: break
            }
        }
        return marks.isEmpty ? PlacementRows.toLeader : marks.sorted().joined(separator: " ")
    }

    /// The ends of attempts that a follower reports.
    var answers: [Placement] {
        compactMap { change in
            if case .placing(.answer(let placement)) = change { placement } else { nil }
        }
    }
}

extension Placement {
    /// The change by which the leader will record the end; `nil` if the attempt has not ended.
    var endOfAttempt: LedgerChange? {
        guard case .ended = state else { return nil }
        let instant = Instant(millisecondsSince1970: 0)
        return .putAttempt(
            Attempt(
                run: run, number: number, startedAt: instant, finishedAt: instant,
                result: .stopped))
    }
}

/// The end of an attempt as text: what its worker reported, as `AttemptReport` writes it, and what
/// its machine adds, one fact a line.
enum PlacedEndText {
    static func text(_ report: PlacedEnd) -> String {
        let end = report.end
        var lines = end.tally.names.map { AttemptReport.count(name: $0, end.tally[$0]).line }
        lines += end.facts.map { AttemptReport.fact($0).line }
        lines += end.notes.map { AttemptReport.note($0).line }
        lines += end.checkpoint.map { [AttemptReport.checkpoint($0).line] } ?? []
        lines += end.events.sorted().map { AttemptReport.happened($0).line }
        if let pause = end.pause {
            let until = pause.until.map { String($0.millisecondsSince1970) } ?? "-"
            lines.append("pause \(until) \(escapedLine(pause.reason))")
        }
        if let stop = report.stop { lines.append("stop \(stop.rawValue)") }
        if report.wasKilled { lines.append("killed") }
        lines.append("memory \(end.peakMemoryBytes)")
        switch end.result {
        case .reported(let outcome): lines.append(AttemptReport.outcome(outcome).line)
        case .broke(let fault): lines.append("broke \(text(of: fault))")
        }
        return lines.joined(separator: "\n")
    }

    /// Returns the end that `text` wrote; `nil` for any other text.
    static func end(_ text: String) -> PlacedEnd? {
        var report = PlacedEnd(AttemptEnd(.reported(.success)))
        var result: AttemptEnd.Result?
        // By scalar: `\r\n` is one character.
        for line in text.unicodeScalars.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            let rest = words.count > 1 ? words[1] : line[line.endIndex...]
            switch String(words[0]) {
            case "pause":
                let parts = rest.split(
                    separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2 else { return nil }
                report.end.pause = PauseRequest(
                    until: Int64(String(parts[0])).map { Instant(millisecondsSince1970: $0) },
                    reason: unescapedLine(parts[1]))
            case "stop":
                guard let stop = StopReason(rawValue: String(rest)) else { return nil }
                report.stop = stop
            case "killed": report.wasKilled = true
            case "memory":
                guard let bytes = Int64(String(rest)) else { return nil }
                report.end.peakMemoryBytes = bytes
            case "broke":
                guard let fault = fault(rest) else { return nil }
                result = .broke(fault)
            default:
                guard let reported = reported(String(line), in: &report.end) else { return nil }
                result = reported.map { .reported($0) } ?? result
            }
        }
        guard let result else { return nil }
        report.end.result = result
        return report
    }

    /// Adds what a line of a worker says to an end.
    ///
    /// - Returns: the outcome if the line has it; `nil` for a line that no worker writes.
    private static func reported(_ line: String, in end: inout AttemptEnd) -> Outcome?? {
        do throws(MalformedLine) {
            switch try AttemptReport(line: line) {
            case .count(let name, let value): end.tally[name] = value
            case .fact(let fact): end.facts.append(fact)
            case .note(let note): end.notes.append(note)
            case .checkpoint(let checkpoint): end.checkpoint = checkpoint
            case .happened(let name): end.events.insert(name)
            case .outcome(let outcome): return .some(outcome)
            case .progress: break
            }
            return .some(nil)
        } catch {
            return nil
        }
    }

    private static func text(of fault: AttemptFault) -> String {
        switch fault {
        case .notStarted(let reason): "not_started \(escapedLine(reason))"
        case .exitedWithoutReport(let status): "exited \(status)"
        case .killedBySignal(let signal): "signal \(signal)"
        case .malformedReport(let reason): "malformed \(escapedLine(reason))"
        case .memoryLimitExceeded(let limit, let measured): "memory \(limit) \(measured)"
        case .leftProcessesBehind: "left_processes"
        }
    }

    private static func fault(_ text: Substring.UnicodeScalarView) -> AttemptFault? {
        let words = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        let rest = words.count > 1 ? words[1] : text[text.endIndex...]
        let numbers = rest.split(separator: " ").compactMap { Int64(String($0)) }
        switch (String(words[0]), numbers.count) {
        case ("not_started", _): return .notStarted(unescapedLine(rest))
        case ("malformed", _): return .malformedReport(unescapedLine(rest))
        case ("exited", 1):
            return .exitedWithoutReport(status: Int32(truncatingIfNeeded: numbers[0]))
        case ("signal", 1): return .killedBySignal(Int32(truncatingIfNeeded: numbers[0]))
        case ("memory", 2):
            return .memoryLimitExceeded(limitBytes: numbers[0], measuredBytes: numbers[1])
        case ("left_processes", _): return .leftProcessesBehind
        default: return nil
        }
    }
}
