/// Does a job's work, one attempt at a time.
public protocol Worker: Sendable {
    /// Runs one attempt to its end.
    ///
    /// Never throws: a worker that breaks ends with `AttemptEnd.Result.broke`. `progress` is called
    /// for each `AttemptReport.progress`. `signals` carries requests from the scheduler: `warn`
    /// asks the work to come to an end, `kill` makes it end at once; the stream may end early,
    /// which asks for nothing.
    func run(
        _ order: AttemptOrder, signals: AsyncStream<AttemptSignal>,
        progress: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Void
    ) async -> AttemptEnd
}
