import ClarityHost
import HealthStore
import Reports
import Platform

/// `key rotate` and `key status`.
struct KeyCommand: ComposedCommand {
    let composition: Composition

    func rotate() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        var newKey: NewKey
        switch (arguments["new-key-file"], arguments["new-key-variable"]) {
        case (nil, nil): newKey = .made
        case (let path?, nil): newKey = .file(path)
        case (nil, let name?): newKey = .variable(name)
        default:
            throw CommandFailure(
                .usage, "`key rotate` wants --new-key-file or --new-key-variable, not both")
        }
        let file = try composition.jobFile()
        let state = try composition.ownData(file)
        var environment = try composition.keyEnvironment(file)
        if let account = file.account {
            do throws(MasterKeyError) {
                (newKey, environment) = try newKey.derived(for: account.id, in: environment)
            } catch {
                throw CommandFailure(.configuration, error.description)
            }
        }
        var rotation = KeyRotation(
            stateDirectory: state, environment: environment, to: newKey,
            actor: AuditActor(program: "key rotate"), clock: SystemClock())
        if composition.console.isVerbose {
            rotation.progress = { Console.fault("\($0) rows done") }
        }
        let report = try usingHealthData { () throws(HealthStoreError) in try rotation.run() }
        composition.console.results(report.lines, report)
        try composition.removeDeletedRows(of: file)
        return .done
    }

    func status() throws(CommandFailure) -> ExitStatus {
        let file = try composition.jobFile()
        let state = try composition.ownData(file)
        let environment = try composition.keyEnvironment(file)
        let status = try usingHealthData { () throws(HealthStoreError) in
            try KeyStatus.read(stateDirectory: state, environment: environment)
        }
        guard let status else {
            throw CommandFailure(
                .configuration,
                "no health data is kept in `\(file.server.map { "\($0)" } ?? state)` yet, so there is no "
                    + "master key")
        }
        composition.console.results(status.lines, status)
        return .done
    }
}
