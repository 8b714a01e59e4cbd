public import ClarityScheduler
import JSON
import Platform
@preconcurrency import Glibc

/// The conditions of a machine over a stretch of time, recorded or made up.
public struct ConditionTrace: Hashable, Sendable {
    /// The conditions that hold from an instant on.
    public struct Entry: Hashable, Sendable {
        public var at: Instant
        public var conditions: Conditions
        /// The outcomes of attempts that start from then on.
        public var attempts = SimulatedOutcomes()
    }

    /// At least one entry, in strictly ascending order of time.
    public let entries: [Entry]

    /// Creates a trace; returns `nil` if `entries` is empty or an entry is not later than the one
    /// before it.
    public init?(_ entries: [Entry]) {
        guard !entries.isEmpty, zip(entries, entries.dropFirst()).allSatisfy({ $0.at < $1.at })
        else { return nil }
        self.entries = entries
    }

    /// The jobs whose outcomes some entry sets by their id.
    public var supposedJobs: Set<JobID> {
        entries.reduce(into: []) { $0.formUnion($1.attempts.jobs) }
    }

    /// Returns the conditions at an instant.
    ///
    /// These are the conditions of the last entry up to the instant, or of the first entry if the
    /// instant is before it. Uses a binary search.
    public func conditions(at instant: Instant) -> Conditions {
        entry(at: instant).conditions
    }

    /// Returns the simulated outcome of a job's attempts that start at an instant; uses a binary
    /// search.
    public func attempt(of job: JobID, at instant: Instant) -> SimulatedAttempt {
        entry(at: instant).attempts[job]
    }

    private func entry(at instant: Instant) -> Entry {
        entries[max(0, count(upTo: instant) - 1)]
    }

    /// Returns the first instant strictly after another at which an entry begins; `nil` after the
    /// last.
    public func nextChange(after instant: Instant) -> Instant? {
        let count = count(upTo: instant)
        return count < entries.count ? entries[count].at : nil
    }

    /// Returns the number of entries that begin at or before an instant.
    private func count(upTo instant: Instant) -> Int {
        entries.endOfPrefix { $0.at <= instant }
    }
}

/// Reads a trace of conditions, one JSON object per line:
///
///     # A night at home, written by hand.
///     {"at":"2026-11-20T22:00:00Z","connected":true,"metered":false,"battery":80,"idle":false}
///     {"at":"2026-11-20T23:30:00Z","idle":true}
///     {"at":"2026-11-21T06:00:00Z","attempts":{"*":"retry","nightly":{"duration":"2m"}}}
///
/// The names are those of `ConditionsNotation`, plus `attempts`: the outcomes that `simulate` gives
/// to attempts that start from then on. A line keeps everything that it does not name from the line
/// before. A condition is unknown until a line names it, and attempts succeed until a line says
/// otherwise. Times must ascend. Lines that are blank or begin with `#` are skipped.
public struct TraceReader: Sendable {
    /// The maximum size of a trace: 64 MiB.
    public static let largestFileBytes = 64 << 20
    /// The maximum number of lines in a trace.
    public static let mostLines = 1_000_000

    /// Creates a reader.
    public init() {}

    /// Reads the trace in a file, or in anything else that can be read to its end.
    ///
    /// - Throws: `TraceFault` for the first fault of the file.
    public func read(fileAt path: String) throws(TraceFault) -> ConditionTrace {
        try read(try bytes(of: path), path: path)
    }

    /// Reads a trace from bytes; faults and the sources of conditions call it `path`.
    ///
    /// - Throws: `TraceFault` for the first fault.
    public func read(_ bytes: [UInt8], path: String) throws(TraceFault) -> ConditionTrace {
        var entries: [ConditionTrace.Entry] = []
        var last = ConditionTrace.Entry(
            at: Instant(millisecondsSince1970: .min), conditions: .unnamed(path))
        var number = 0
        var lastNumber = 0
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            let line = bytes[start..<end]
            start = end + 1
            number += 1
            guard number <= TraceReader.mostLines else {
                throw TraceFault(
                    path: path, problem: "more than \(TraceReader.mostLines) lines")
            }
            guard let first = line.first(where: { !TraceReader.isBlank($0) }),
                first != UInt8(ascii: "#")
            else { continue }
            let next = try entry(Array(line), after: last, path: path, number: number)
            guard entries.isEmpty || next.at > last.at else {
                throw TraceFault(
                    path: path, line: number,
                    problem:
                        "`at` is \(next.at), wanted later than \(last.at) of line \(lastNumber)"
                )
            }
            last = next
            lastNumber = number
            entries.append(next)
        }
        guard let trace = ConditionTrace(entries) else {
            throw TraceFault(path: path, problem: "no line holds conditions")
        }
        return trace
    }

    private func entry(
        _ line: [UInt8], after earlier: ConditionTrace.Entry, path: String, number: Int
    ) throws(TraceFault) -> ConditionTrace.Entry {
        let value: JSON
        do throws(JSONFault) {
            value = try JSONParser.parse(line)
        } catch {
            throw TraceFault(
                path: path, line: number, column: error.offset + 1,
                problem: "not JSON: \(error.reason)")
        }
        do throws(NotationFault) {
            guard case .object(let members) = value else { throw .noObject(got: value.line) }
            let conditions = try ConditionsNotation.read(
                members.filter { $0.name != "at" && $0.name != "attempts" },
                onto: earlier.conditions, source: "\(path):\(number)")
            return ConditionTrace.Entry(
                at: try instant(members), conditions: conditions,
                attempts: try attempts(members, after: earlier.attempts))
        } catch {
            throw TraceFault(path: path, line: number, problem: error.description)
        }
    }

    private func attempts(
        _ members: [JSON.Member], after earlier: SimulatedOutcomes
    ) throws(NotationFault) -> SimulatedOutcomes {
        guard let value = try only("attempts", of: members) else { return earlier }
        var attempts = earlier
        try attempts.read(value)
        return attempts
    }

    private func instant(_ members: [JSON.Member]) throws(NotationFault) -> Instant {
        guard let value = try only("at", of: members) else { throw .missing(name: "at") }
        guard case .string(let text) = value, let instant = Instant(rfc3339: text) else {
            throw .unexpected(
                name: "at", got: value.line, wanted: "a time such as \"2026-11-20T06:00:00Z\"")
        }
        return instant
    }

    /// Returns the value of a member that may occur once; `nil` if there is none.
    private func only(
        _ name: String, of members: [JSON.Member]
    ) throws(NotationFault) -> JSON? {
        let given = members.filter { $0.name == name }
        guard given.count <= 1 else { throw .twice(name: name) }
        return given.first?.value
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0D
    }

    private func bytes(of path: String) throws(TraceFault) -> [UInt8] {
        do throws(WholeFile.Fault) {
            return try WholeFile.bytes(of: path, atMost: TraceReader.largestFileBytes)
        } catch {
            guard case .refused(let code) = error else {
                throw TraceFault(
                    path: path, problem: "more than \(TraceReader.largestFileBytes) bytes")
            }
            let problem = SystemError(code: code).reason
            throw TraceFault(
                path: path, problem: "cannot read it: \(problem)", isUnreadable: true)
        }
    }
}

extension Conditions {
    /// Conditions that a trace has not named yet.
    fileprivate static func unnamed(_ path: String) -> Conditions {
        var conditions = Conditions()
        for condition in ConditionsNotation.fixed {
            condition.update(&conditions) { $0.source = "not in \(path)" }
        }
        return conditions
    }
}

/// The reason that a file is not a trace of conditions, and where the fault is.
public struct TraceFault: Error, Hashable, Sendable {
    /// The file's path as the caller gave it.
    public var path: String
    /// The line, from 1; `nil` if the fault concerns the whole file.
    public var line: Int?
    /// The column in bytes, from 1, if the line is not JSON.
    public var column: Int?
    public var problem: String
    /// Whether the file does not exist or cannot be read.
    public var isUnreadable = false
}

extension TraceFault: CustomStringConvertible {
    /// `night.ndjson:3: unknown name ...`, `night.ndjson:3:14: not JSON: ...`.
    public var description: String {
        let position = [line, column].compactMap { $0.map(String.init) }
        return ([path] + position).joined(separator: ":") + ": \(problem)"
    }
}

/// Records the conditions of a machine as they change.
public struct TraceRecorder: Sendable {
    /// The interval at which it samples even if no change was announced: 1 minute. Storage,
    /// pressure and a battery's charge change without an announcement.
    public static let interval = Duration.seconds(60)

    private let monitor: any ConditionMonitor
    private let clock: any WallClock

    /// Creates a recorder of the conditions that `monitor` reports.
    public init(monitor: any ConditionMonitor, clock: any WallClock) {
        self.monitor = monitor
        self.clock = clock
    }

    /// Writes a line at once, and another whenever conditions have changed.
    ///
    /// Records until `span` is over or the task is cancelled; without a span, until the task is
    /// cancelled. Free storage is rounded down to whole MiB, and counts as changed if it differs by
    /// 5 %, at least 1 MiB. Pressure counts as changed if it differs by 10 points, and a battery's
    /// charge by 1 percent.
    ///
    /// - Throws: the error that `write` throws, at once; recording stops then.
    public func run<Fault: Error>(
        for span: Duration? = nil, write: (String) throws(Fault) -> Void
    ) async throws(Fault) {
        let (wakes, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // Subscribe before the first sample, so that no change is lost between the two.
        let changes = monitor.changes()
        let clock = clock
        var fault: Fault?
        await withDiscardingTaskGroup { group in
            group.addTask { for await _ in changes { continuation.yield() } }
            group.addTask {
                while !Task.isCancelled {
                    await clock.sleep(for: TraceRecorder.interval)
                    continuation.yield()
                }
            }
            if let span {
                group.addTask {
                    await clock.sleep(for: span)
                    continuation.finish()
                }
            }
            do throws(Fault) {
                try await record(wakes, write)
            } catch {
                fault = error
            }
            group.cancelAll()
        }
        if let fault { throw fault }
    }

    /// Writes a line at once, and another at each wake that finds changed conditions.
    private func record<Fault: Error>(
        _ wakes: AsyncStream<Void>, _ write: (String) throws(Fault) -> Void
    ) async throws(Fault) {
        var writer = TraceWriter()
        var last: Conditions?
        func look() throws(Fault) {
            let conditions = monitor.conditions().inSteps(from: last)
            last = conditions
            if let line = writer.line(for: conditions, at: clock.now) { try write(line) }
        }
        try look()
        for await _ in wakes { try look() }
    }
}

/// Writes conditions as the lines that `TraceReader` reads: all of them first, then only changes.
public struct TraceWriter: Sendable {
    private var last: ConditionTrace.Entry?

    /// Creates a writer for a new trace.
    public init() {}

    /// Returns the line, without its line feed, for conditions that hold from an instant on; `nil`
    /// if no value has changed since the last line.
    ///
    /// A change of source alone is not a change. Times ascend: if the clock was set back behind the
    /// last line, the new line is 1 ms later than that one.
    public mutating func line(for conditions: Conditions, at instant: Instant) -> String? {
        let members = ConditionsNotation.members(conditions, since: last?.conditions)
        guard !members.isEmpty else { return nil }
        let at = last.map { max(instant, $0.at + .milliseconds(1)) } ?? instant
        last = ConditionTrace.Entry(at: at, conditions: conditions)
        return JSON.object([JSON.Member(name: "at", value: .text(at))] + members).line
    }
}
