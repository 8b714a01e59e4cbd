import ClarityScheduler

/// Watches the process of an attempt on a thread of its own, and passes signals on to it.
enum AttemptWatch {
    /// Starts the process, and returns when it has been reaped; cancelling the task kills it.
    ///
    /// - Throws: `SystemError` if the process cannot be started or watched.
    static func run<Listener>(
        _ signals: AsyncStream<AttemptSignal>,
        _ progress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Void,
        start: @escaping @Sendable () throws(SystemError) -> ProcessAttempt<Listener>
    ) async throws(SystemError) -> AttemptEnd {
        let requests = try AttemptRequests()
        defer { requests.end() }
        return try await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await signal in signals { requests.send(signal) }
                }
                defer { group.cancelAll() }
                do throws(SystemError) {
                    return try await AttemptThread.run {
                        do throws(SystemError) {
                            return Result<AttemptEnd, SystemError>.success(
                                try start().run(requests, progress))
                        } catch {
                            return .failure(error)
                        }
                    }
                } catch {
                    return .failure(error)
                }
            }
        } onCancel: {
            requests.send(.kill)
        }.get()
    }
}
