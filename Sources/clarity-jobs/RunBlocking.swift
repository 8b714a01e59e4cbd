import ClarityHost
import Platform

/// Runs asynchronous work, and everything it waits for, on this thread.
///
/// The program has no other thread for tasks, so that it sleeps while it has nothing to do
/// (`EventThread`). Most commands need no task. Threads for tasks would cost them as much as
/// everything else they do.
func runBlocking(
    _ work: @escaping @Sendable (EventThread) async throws(CommandFailure) -> ExitStatus
) throws(CommandFailure) -> ExitStatus {
    guard let events = EventThread() else {
        throw CommandFailure(.unreachable, "this process may open no more files")
    }
    // Lets the tasks that the work has cancelled end too.
    defer { events.doReady() }
    return try events.run { () throws(CommandFailure) in try await work(events) }
}
