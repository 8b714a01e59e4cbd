import ClarityScheduler

/// Polls in rounds with waits between them, as long as the attempt has time for the next round.
enum PollSchedule {
    /// The wait before the second round; it doubles up to `longestWait`.
    static let firstWait = Duration.seconds(1)
    static let longestWait = Duration.seconds(8)

    /// Polls until `round` returns that another one is not worthwhile. The next run polls for what
    /// is still open.
    ///
    /// - Parameter waitsFirst: whether to wait before the first round too, because something has
    ///   only just begun.
    static func run(
        _ context: WorkContext, waitsFirst: Bool = false, _ round: () async throws -> Bool
    ) async throws {
        let end = context.startedAt + context.order.timeout - context.order.warning
        var wait = firstWait
        if !waitsFirst {
            guard try await round() else { return }
        }
        while !context.isEnding(), context.clock.elapsed + wait < end {
            await context.clock.sleep(for: wait)
            guard try await round() else { return }
            wait = min(wait * 2, longestWait)
        }
    }
}
