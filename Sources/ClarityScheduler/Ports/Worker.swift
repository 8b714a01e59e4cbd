/// Does a job's work, one attempt at a time.
public protocol Worker: Sendable {
    /// Runs one attempt to its end.
    ///
    /// Never throws: a worker that breaks ends with `AttemptEnd.Result.broke`. `progress` is called
    /// for each `AttemptReport.progress`. `signals` carries requests from the scheduler: `warn`
    /// asks the worker to finish, `kill` ends it at once. An early end of the stream requests
    /// nothing.
    func run(
        _ order: AttemptOrder, signals: AsyncStream<AttemptSignal>,
        progress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Void
    ) async -> AttemptEnd
}
