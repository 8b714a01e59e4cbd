import ClarityHost
import Platform
import Synchronization

extension Composition {
    /// Writes the `metrics_textfile` of a job file, if it names one. A failure is one line on
    /// standard error.
    ///
    /// A process of its own does it, because some metrics need the master key, which no scheduler
    /// has.
    func writeMetrics(_ file: JobFile) {
        guard file.metricsTextfile != nil else { return }
        let problem: String?
        do throws(CommandFailure) {
            problem = CompanionProcess.run(
                [try companion("clarity-jobs-web"), "textfile"] + (try exporterWords(file)),
                environment: try keyedEnvironment(file), within: .seconds(10))
        } catch {
            problem = error.lines.first
        }
        if let problem { Console.fault("clarity-jobs: no metrics: \(problem)") }
    }

    /// Returns the paths that `clarity-jobs-web` wants: of the job file, and of the state.
    func exporterWords(_ file: JobFile) throws(CommandFailure) -> [String] {
        [absolute(try jobFilePath()), absolute(statePath(file))]
    }
}

/// Writes the metrics of a loop after changes, at most once a minute.
final class MetricsWriter: Sendable {
    private let changes: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (changes, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Notes that there is something new to write.
    func note() { continuation.yield() }

    /// Writes until the task is cancelled; `file` returns the job file in force.
    ///
    /// The writing blocks a thread of its own, so that the loop goes on meanwhile.
    func run(
        _ composition: Composition, on events: EventThread, file: @Sendable () -> JobFile
    ) async {
        for await _ in changes {
            let file = file()
            guard file.metricsTextfile != nil else { continue }
            await withCheckedContinuation { written in
                let code = DetachedThread.start {
                    composition.writeMetrics(file)
                    written.resume()
                }
                if code != 0 { written.resume() }
            }
            await EventClock(events).sleep(for: .seconds(60))
        }
    }
}
