import CLinux
import ClarityScheduler
import Platform
@preconcurrency import Glibc

/// `demo`: shows the program on invented data, in a folder that is gone afterwards.
///
/// It does with this program what a person does: a job file, an import, an upload, the pages. The
/// server that it sends to is the package's own stand-in, on loopback. Nothing that is
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
        let sandbox = composition.companionIfThere("clarity-jobs-sandbox")
        let steps = sandbox == nil ? 3 : 4
        say("1 of \(steps): inventing \(DemoExport.days) days of a person who does not exist")
        try JobFileDraft(DemoExport.text(at: composition.clock.now, in: zone))
            .publish(as: answers.path)
        try JobFileDraft(answers.jobFile).publish(as: jobFile)
        say("2 of \(steps): reading them, as the export of a phone")
        let read = try program(["run", SetupAnswers.importJob, "--force"], jobFile)
        guard read == .done else { return read }
        let summary = try program(["summary"], jobFile)
        guard summary == .done else { return summary }
        guard let sandbox else { return try pages(jobFile, "3 of 3") }

        say("")
        say("3 of 4: sending them to a stand-in for a CLARITY server, here on this machine")
        let standIn = try StandIn(sandbox, data: "\(folder)/backend")
        answers.goal = .send
        answers.backend = standIn.url
        let sending = "\(folder)/sending.yaml"
        try JobFileDraft(answers.jobFile).publish(as: sending)
        let login = ["auth", "login", "--email", "demo@example.com", "--password-stdin"]
        let commands: [(words: [String], input: String?)] = [
            (login, "Demo-Passw0rd!\n"), (["run", SetupAnswers.uploadJob, "--force"], nil),
            (["audit"], nil),
        ]
        for (words, input) in commands {
            let status = try program(words, sending, input: input)
            guard status == .done else { return status }
        }
        let counts = standIn.url.replacing("/api/v1", with: "/_sandbox/summary")
        say("The stand-in counts what it received: \(counts)")
        return try withExtendedLifetime(standIn) { () throws(CommandFailure) in
            try pages(sending, "4 of 4")
        }
    }

    /// Shows the pages until a signal ends them.
    private func pages(_ jobFile: String, _ step: String) throws(CommandFailure) -> ExitStatus {
        guard composition.companionIfThere("clarity-jobs-web") != nil else {
            throw CommandFailure(
                .configuration, "there is no program `clarity-jobs-web`, which shows the pages",
                "help: install the package clarity-jobs-web too")
        }
        say("")
        say("\(step): showing them on web pages. Ctrl-C ends the demo and removes its data.")
        say(
            "Other commands work in another terminal, such as `metrics`, `records`, `explain`, after:"
        )
        say("  export CLARITY_JOBS_CONFIG=\(shellQuoted(jobFile))")
        let listen = composition.arguments["listen"].map { ["--listen", $0] } ?? []
        return try program(["serve"] + listen, jobFile)
    }

    /// Runs a command of this program with the demo's job file alone.
    private func program(
        _ words: [String], _ jobFile: String, input: String? = nil
    ) throws(CommandFailure) -> ExitStatus {
        let environment = composition.environment.filter { !$0.key.hasPrefix("CLARITY_JOBS_") }
        let status = try ForegroundProgram.run(
            [try composition.ownProgram()] + words + ["--config", jobFile],
            input: input.map { Array($0.utf8) }, environment: environment,
            forwards: [SIGTERM, SIGHUP])
        return ExitStatus(rawValue: status) ?? .failed
    }

    private func say(_ line: String) { composition.console.note(line) }
}

/// A stand-in for a CLARITY server, which ends with its owner, however that ends.
private final class StandIn {
    let url: String
    /// The other end of its standard input, at whose end it ends, and of its standard output.
    private let input, output: Int32

    init(_ program: String, data: String) throws(CommandFailure) {
        var ends: [Int32] = [-1, -1, -1, -1]
        guard clinux_pipe(&ends) == 0,
            ends.withUnsafeMutableBufferPointer({ ends in
                ends.baseAddress.map { clinux_pipe($0 + 2) } == 0
            })
        else {
            throw CommandFailure(.unreachable, "cannot make a pipe: \(SystemError().reason)")
        }
        (input, output) = (ends[1], ends[2])
        // A shell gives a program in the background no input of its own.
        let shell = ["/bin/sh", "-c", "exec 3<&0; \"$0\" \"$@\" <&3 3<&- &"]
        // It has processed an upload when it is asked for the first time: nobody waits.
        let words = [
            "--listen", "127.0.0.1:0", "--data", data, "--processing-steps", "1",
            "--exit-with-stdin",
        ]
        _ = try ForegroundProgram.run(
            shell + [program] + words, outputs: [STDIN_FILENO: ends[0], STDOUT_FILENO: ends[3]])
        close(ends[0])
        close(ends[3])
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(output, &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
        guard let word = String(decoding: line, as: UTF8.self).split(separator: " ").last else {
            throw CommandFailure(.unreachable, "the stand-in for a server did not start")
        }
        url = String(word)
    }

    deinit {
        close(input)
        // At the end of its output it has ended, and writes nothing any more.
        var byte: UInt8 = 0
        while read(output, &byte, 1) == 1 {}
        close(output)
    }
}
