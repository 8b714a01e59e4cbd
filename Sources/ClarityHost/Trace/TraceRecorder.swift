public import ClarityScheduler

/// Records the conditions of a machine as they change.
public struct TraceRecorder: Sendable {
    /// How often it looks, whether a change was announced or not: once a minute. Storage, pressure
    /// and a battery's charge change without a word.
    public static let interval = Duration.seconds(60)

    private let monitor: any ConditionMonitor
    private let clock: any WallClock

    /// Creates a recorder of what `monitor` tells.
    public init(monitor: any ConditionMonitor, clock: any WallClock) {
        self.monitor = monitor
        self.clock = clock
    }

    /// Hands over a line at once, and one whenever conditions have changed, until `span` is over or
    /// the task is cancelled; without a span, until it is cancelled.
    ///
    /// Free storage is rounded down to whole MiB and counts as changed by 5 %, at least 1 MiB;
    /// pressure by 10 points. A battery's every percent counts.
    ///
    /// - Throws: what `write` throws, at once; nothing more is recorded then.
    public func run<Fault: Error>(
        for span: Duration? = nil, write: (String) throws(Fault) -> Void
    ) async throws(Fault) {
        let (wakes, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // Listened to before the first look, so that nothing falls between the two.
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

    /// Hands over a line at once, and one at each wake that finds another machine.
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
