import ClarityScheduler
import Platform
@preconcurrency import Glibc

/// `demo`: shows the program on invented data, in a folder that is gone afterwards.
///
/// It does with this program what a person does: a job file, an import, the pages. Nothing that is
/// there already is read or changed, and nothing leaves this machine.
struct DemoCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func run() throws(CommandFailure) -> ExitStatus {
        guard composition.arguments.operands.isEmpty else {
            throw CommandFailure(.usage, "`demo` takes no operands")
        }
        return try composition.withTemporaryFolder("demo") { folder throws(CommandFailure) in
            let status = try show(in: folder)
            say("the demo's data is removed: \(folder)")
            return status
        }
    }

    private func show(in folder: String) throws(CommandFailure) -> ExitStatus {
        let zone = try Composition.localZone(composition.environment)
        var answers = SetupAnswers()
        answers.goal = .keep
        answers.path = "\(folder)/export.xml"
        answers.timeZone = zone.identifier
        answers.stateDirectory = "\(folder)/state"
        let jobFile = "\(folder)/jobs.yaml"
        say("1 of 3: inventing \(DemoExport.days) days of a person who does not exist")
        try JobFileDraft(DemoExport.text(at: composition.clock.now, in: zone))
            .publish(as: answers.path)
        try JobFileDraft(answers.jobFile).publish(as: jobFile)
        say("2 of 3: reading them, as the export of a phone")
        let read = try program(["run", SetupAnswers.importJob, "--force"], jobFile)
        guard read == .done else { return read }
        let summary = try program(["summary"], jobFile)
        guard summary == .done else { return summary }
        guard composition.companionIfThere("clarity-jobs-web") != nil else {
            throw CommandFailure(
                .configuration, "there is no program `clarity-jobs-web`, which shows the pages",
                "help: install the package clarity-jobs-web too")
        }
        say("")
        say("3 of 3: showing them on web pages. Ctrl-C ends the demo and removes its data.")
        say(
            "Other commands work in another terminal, such as `metrics`, `records`, `explain`, after:"
        )
        say("  export CLARITY_JOBS_CONFIG=\(shellQuoted(jobFile))")
        let listen = composition.arguments["listen"].map { ["--listen", $0] } ?? []
        return try program(["serve"] + listen, jobFile)
    }

    /// Runs a command of this program with the demo's job file alone.
    private func program(
        _ words: [String], _ jobFile: String
    ) throws(CommandFailure) -> ExitStatus {
        let environment = composition.environment.filter { !$0.key.hasPrefix("CLARITY_JOBS_") }
        let status = try ForegroundProgram.run(
            [try composition.ownProgram()] + words + ["--config", jobFile],
            environment: environment, forwards: [SIGTERM, SIGHUP])
        return ExitStatus(rawValue: status) ?? .failed
    }

    private func say(_ line: String) { composition.console.note(line) }
}
