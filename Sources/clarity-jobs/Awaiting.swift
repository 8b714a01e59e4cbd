import ClarityHost

/// Does a task's work on this thread, with all that it waits for.
///
/// The program has no other thread for tasks, so that it sleeps while it has nothing to do
/// (`EventThread`). Most commands need no task, and would pay for the threads that run them as much as
/// for all else they do.
func awaiting(
    _ work: @escaping @Sendable (EventThread) async throws(CommandFailure) -> ExitStatus
) throws(CommandFailure) -> ExitStatus {
    guard let events = EventThread() else {
        throw CommandFailure(.unreachable, "this process may open no more files")
    }
    // What the work has cancelled ends too.
    defer { events.doReady() }
    return try events.run { () throws(CommandFailure) in try await work(events) }
}
