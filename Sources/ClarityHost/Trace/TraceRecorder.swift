public import ClarityScheduler
import JSON

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

extension Conditions {
    /// Returns these conditions without the changes since `earlier` that are too small for a line.
    ///
    /// Free storage is rounded down to whole MiB, and counts as changed if it differs by 5 % of
    /// what it was, at least 1 MiB. Pressure counts as changed if it differs by 10 points. Every
    /// other change counts.
    func inSteps(from earlier: Conditions?) -> Conditions {
        var result = self
        result.storageFreeBytes = storageFreeBytes.inSteps(from: earlier?.storageFreeBytes)
        for (path, free) in storage {
            result.storage[path] = free.inSteps(from: earlier?.storage[path])
        }
        guard let earlier else { return result }
        if let now = pressurePercent.value, let then = earlier.pressurePercent.value,
            (now - then).magnitude < 10
        {
            result.pressurePercent = earlier.pressurePercent
        }
        return result
    }

}

extension Conditions.Reading<Int64> {
    fileprivate func inSteps(from earlier: Self?) -> Self {
        var result = self
        result.value = value.map { $0 & ~((1 << 20) - 1) }
        if let now = result.value, let earlier, let then = earlier.value,
            (now - then).magnitude < max(1 << 20, then.magnitude / 20)
        {
            return earlier
        }
        return result
    }
}
