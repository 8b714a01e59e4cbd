import ClarityScheduler

/// Asks in rounds with waits between them, as long as the attempt has time for the next.
enum PollSchedule {
    /// The wait before the second round; it doubles up to `longestWait`.
    static let firstWait = Duration.seconds(1)
    static let longestWait = Duration.seconds(8)

    /// Asks until `round` says that no other is worth while; what is open then is asked for by the
    /// next run.
    ///
    /// - Parameter waitsFirst: whether the first round has a wait before it too, since something has
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
