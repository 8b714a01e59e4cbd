import ClarityHost
import ClarityScheduler
import Platform
@preconcurrency import Glibc

/// `logs JOB`: shows what the program of a job's last run wrote, also while it runs.
struct LogsCommand: ComposedCommand {
    let composition: Composition
    private var console: Console { composition.console }

    func run() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        guard arguments.operands.count == 1 else {
            throw CommandFailure(.usage, "`logs` wants a job or a run's number")
        }
        guard !arguments.has("follow") || console.form == .table else {
            throw CommandFailure(.usage, "--follow shows lines, and goes with no --output")
        }
        let file = try composition.jobFile()
        var story = try story(file)
        guard console.form == .table else {
            console.results(story.attempts)
            return .done
        }
        var shown = ShownOutput(arguments["grep"])
        shown.show(story, console)
        if arguments.has("follow") {
            let changes = AttemptChanges(inState: composition.statePath(file))
            while !story.run.state.isFinished {
                changes.wait()
                story = try self.story(file, story.run.id)
                shown.show(story, console)
            }
        }
        shown.end(story, console)
        return .done
    }

    /// Returns the run that the command line names, or a run that is known already.
    private func story(
        _ file: JobFile, _ known: RunID? = nil
    ) throws(CommandFailure) -> (run: Run, attempts: [Attempt]) {
        // Opened anew each time: a file that nobody writes into is read as it was when it was opened.
        let history = try composition.history(file)
        let run =
            if let known {
                try composition.run(numbered: known.rawValue, in: history)
            } else {
                try composition.run(
                    named: composition.arguments.operands[0], in: file, history)
            }
        let attempts = try askingStore { () throws(RunStoreError) in
            try history.attempts(of: run.id)
        }
        return (run, attempts)
    }
}

/// How much of the output of a run's attempts is shown already.
private struct ShownOutput {
    private let part: String?
    private var attempt = 0
    /// The number of bytes of that attempt's output that were shown or left out.
    private var seen: Int64 = 0
    /// A line that has no end yet.
    private var begun: [UInt8] = []

    init(_ part: String?) { self.part = part }

    /// Shows the whole lines that came since the last call.
    mutating func show(_ story: (run: Run, attempts: [Attempt]), _ console: Console) {
        for one in story.attempts where one.number >= attempt {
            if one.number > attempt {
                flush(console)
                (attempt, seen) = (one.number, 0)
                if one.number > 1 { console.note("attempt \(one.number):") }
            }
            if let output = one.output { show(output, console) }
        }
    }

    /// Shows the rest, and how the run stands.
    mutating func end(_ story: (run: Run, attempts: [Attempt]), _ console: Console) {
        flush(console)
        let progress = story.attempts.last?.progress.map { ": \($0.words)" } ?? ""
        console.note(
            "\(story.run.job), run \(story.run.id): \(RunReport.state(story.run))\(progress)")
    }

    private mutating func show(_ output: AttemptOutput, _ console: Console) {
        take(output.head, at: 0, console)
        take(output.tail, at: Int64(output.head.count) + output.leftOutBytes, console)
    }

    private mutating func take(_ bytes: [UInt8], at place: Int64, _ console: Console) {
        guard !bytes.isEmpty else { return }
        if place > seen {
            flush(console)
            console.note("... \(place - seen) bytes are left out ...")
            seen = place
        }
        begun += bytes.dropFirst(Int(seen - place))
        seen = max(seen, place + Int64(bytes.count))
        guard let end = begun.lastIndex(of: UInt8(ascii: "\n")) else {
            // A line without an end is shown in parts.
            if begun.count > RunReporter.longestLine { flush(console) }
            return
        }
        write(Array(begun[...end]), console)
        begun.removeSubrange(...end)
    }

    private mutating func flush(_ console: Console) {
        write(begun, console)
        begun = []
    }

    private func write(_ bytes: [UInt8], _ console: Console) {
        for line in AttemptOutput.lines(bytes) where part.map({ line.contains($0) }) ?? true {
            console.show(line)
        }
    }
}

/// Waits until an attempt of a state directory may have written something, or ended.
private struct AttemptChanges: ~Copyable {
    /// How long it waits at most: a history on a server changes no file here.
    private static let longest: Int32 = 2000

    private let watch: Inotify?

    init(inState directory: String) {
        watch = Inotify()
        watch?.watch("\(directory)/attempts", IN_MODIFY | IN_DELETE)
        watch?.watch(directory, IN_MODIFY)
    }

    deinit { if let watch { close(watch.descriptor) } }

    func wait() {
        var set = pollfd(fd: watch?.descriptor ?? -1, events: Int16(POLLIN), revents: 0)
        poll(&set, 1, AttemptChanges.longest)
        _ = watch?.events()
    }
}
