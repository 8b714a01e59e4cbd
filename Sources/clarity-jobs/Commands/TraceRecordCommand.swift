import ClarityHost
import ClarityScheduler
import Platform
import Glibc

/// `trace record`: writes the machine's conditions as they change, for use by `simulate`.
struct TraceRecordCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func run(on events: EventThread) async throws(CommandFailure) -> ExitStatus {
        let span = try span()
        let file = try composition.jobFile()
        let name = composition.arguments["file"].flatMap { $0 == "-" ? nil : $0 }
        let output = try output(name)
        let monitor = composition.conditions(file, asksServices: true)
        monitor.listen(on: events)
        let recorder = TraceRecorder(
            monitor: monitor, clock: EventClock(events))
        let signals = TerminationSignals(on: events)
        let recording = Task(executorPreference: events) { () -> SystemError? in
            do throws(SystemError) {
                try await recorder.run(for: span) { line throws(SystemError) in
                    try output.write(line)
                }
                return nil
            } catch {
                return error
            }
        }
        let ending = Task(executorPreference: events) {
            for await _ in signals.events { recording.cancel() }
        }
        defer { ending.cancel() }
        if let fault = await recording.value, fault.code != EPIPE {
            let place = name.map { "trace `\($0)`" } ?? "standard output"
            throw CommandFailure(.disk, "cannot write to \(place): \(fault.reason)")
        }
        return .done
    }

    private func span() throws(CommandFailure) -> Duration? {
        guard let text = composition.arguments["for"] else { return nil }
        guard let span = Duration(text: text), span > .zero else {
            throw CommandFailure(
                .usage, "--for is a span such as `90s`, `12h` or `7d`, got `\(text)`")
        }
        return span
    }

    private func output(_ name: String?) throws(CommandFailure) -> LineOutput {
        guard let name else { return .standard }
        do throws(SystemError) {
            return try LineOutput(
                makingFileAt: name, mayReplace: composition.arguments.has("force"))
        } catch {
            var failure = CommandFailure(
                error.isDisk || error.code == EROFS ? .disk : .usage,
                "cannot make trace `\(name)`: \(error.reason)")
            if error.code == EEXIST { failure.lines.append("help: --force replaces it") }
            throw failure
        }
    }
}
