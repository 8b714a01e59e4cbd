public import ClarityScheduler
import JSON

/// A decision as two texts of JSON, its inputs and its outcome.
///
/// Compact rather than plain: names are short and what is as it mostly is is left out. The instant
/// of the decision, the origin of its jobs and the runs that it touched stand beside the texts.
public enum DecisionNotation {
    /// What the decision saw but for its instant and the origin of its jobs.
    public static func inputs(of decision: Decision) -> [UInt8] {
        var writer = NotationWriter()
        writer.object { writer in
            writer.name("e")
            writer.span(decision.moment.elapsed)
            writer.name("o")
            writer.text(decision.owner)
            writer.name("s")
            writer.integer(Int64(bitPattern: decision.seed))
            writer.name("mp")
            writer.integer(Int64(decision.maxParallel))
            writer.name("n")
            writer.integer(decision.nextRun.rawValue)
            writeState(decision, to: &writer)
            if let conditions = decision.conditions {
                writer.name("c")
                writer.json(.object(ConditionsNotation.members(conditions)))
            }
            if !decision.events.isEmpty {
                writer.name("ev")
                writer.array { writer in
                    for event in decision.events { EventNotation.write(event, to: &writer) }
                }
            }
            writeJobs(decision, to: &writer)
        }
        return writer.bytes
    }

    private static func writeState(_ decision: Decision, to writer: inout NotationWriter) {
        if decision.scope != .everything {
            writer.name("sc")
            writer.text(decision.scope.rawValue)
        }
        if decision.isDraining {
            writer.name("d")
            writer.flag(true)
        }
        if let wasConnected = decision.wasConnected {
            writer.name("wc")
            writer.flag(wasConnected)
        }
        if decision.attemptsElsewhere != 0 {
            writer.name("ae")
            writer.integer(Int64(decision.attemptsElsewhere))
        }
    }

    private static func writeJobs(_ decision: Decision, to writer: inout NotationWriter) {
        writer.name("j")
        writer.object { writer in
            for job in decision.jobs {
                writer.name(job.rawValue)
                if let record = decision.records[job] {
                    RecordNotation.write(record, to: &writer)
                } else {
                    writer.null()
                }
            }
        }
        if !decision.runs.isEmpty {
            writer.name("r")
            writer.array { writer in
                for run in decision.runs { RunNotation.write(run, to: &writer) }
            }
        }
        if !decision.waits.isEmpty {
            writer.name("w")
            writer.object { writer in
                for run in decision.waits.keys.sorted() {
                    writer.name(run.description)
                    writer.array { writer in
                        for deferral in decision.waits[run] ?? [] {
                            RecordNotation.write(deferral, to: &writer)
                        }
                    }
                }
            }
        }
        if !decision.inFlight.isEmpty {
            writer.name("f")
            writer.object { writer in
                for run in decision.inFlight.keys.sorted() {
                    guard let attempt = decision.inFlight[run] else { continue }
                    writer.name(run.description)
                    RecordNotation.write(attempt, of: decision.origin, to: &writer)
                }
            }
        }
        if !decision.requestedRuns.isEmpty {
            writer.name("rq")
            writer.runs(decision.requestedRuns)
        }
    }

    /// What was decided.
    public static func outcome(of decision: Decision) -> [UInt8] {
        var writer = NotationWriter()
        writer.texts(decision.outcome)
        return writer.bytes
    }

    /// Reads a decision from what `inputs` and `outcome` wrote and what stands beside it.
    ///
    /// - Throws: `NotationFault` for anything else.
    public static func decision(
        inputs: [UInt8], outcome: [UInt8], at wall: Instant, origin: String, touchedRuns: [RunID]
    ) throws(NotationFault) -> Decision {
        let reader = try parse(inputs, "inputs")
        let outcome = try parse(outcome, "outcome")
        var conditions: Conditions?
        if let noted = reader["c"] {
            guard case .object(let members) = noted.value else {
                throw noted.unexpected("an object")
            }
            conditions = try ConditionsNotation.read(members, source: "")
        }
        var jobs: [JobID] = []
        var records: [JobID: JobRecord] = [:]
        for (name, record) in try reader.member("j").members() {
            guard let job = JobID(name) else {
                throw .unexpected(name: "j", got: name, wanted: "a job's name")
            }
            jobs.append(job)
            if !record.isNull { records[job] = try RecordNotation.record(record) }
        }
        var waits: [RunID: [Deferral]] = [:]
        for (name, deferrals) in try reader["w"]?.members() ?? [] {
            waits[try NotationReader.run(named: name)] = try deferrals.list(RecordNotation.deferral)
        }
        var inFlight: [RunID: AttemptRecord] = [:]
        for (name, attempt) in try reader["f"]?.members() ?? [] {
            inFlight[try NotationReader.run(named: name)] = try RecordNotation.attempt(
                attempt, of: origin)
        }
        return Decision(
            moment: Moment(wall: wall, elapsed: try reader.member("e").span()),
            owner: try reader.member("o").text(),
            seed: UInt64(bitPattern: try reader.member("s").integer()),
            scope: try NotationReader.choice(reader["sc"], standard: .everything),
            origin: origin, maxParallel: try reader.member("mp").count(),
            isDraining: try reader["d"]?.flag() ?? false, wasConnected: try reader["wc"]?.flag(),
            attemptsElsewhere: try reader["ae"]?.count() ?? 0, conditions: conditions,
            events: try reader["ev"]?.list(EventNotation.read) ?? [], jobs: jobs,
            records: records, runs: try reader["r"]?.list(RunNotation.read) ?? [], waits: waits,
            inFlight: inFlight, requestedRuns: try reader["rq"]?.runs() ?? [],
            nextRun: try reader.member("n").run(), outcome: try outcome.texts(),
            touchedRuns: touchedRuns)
    }

    private static func parse(
        _ bytes: [UInt8], _ name: String
    ) throws(NotationFault) -> NotationReader {
        do throws(JSONFault) {
            return NotationReader(try JSONParser.parse(bytes), name)
        } catch {
            throw .unexpected(
                name: name, got: "byte \(error.offset)", wanted: "JSON: \(error.reason)")
        }
    }
}
