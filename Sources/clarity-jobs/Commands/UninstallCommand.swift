import ClarityHost
import Platform
@preconcurrency import Glibc

/// `uninstall`: removes what `init` has installed to start the jobs, and says what stays and where.
struct UninstallCommand {
    private let composition: Composition
    private let path: String

    init(_ composition: Composition) {
        self.composition = composition
        path = composition.setUpJobFilePath
    }

    func run() throws(CommandFailure) -> ExitStatus {
        guard composition.arguments.operands.isEmpty else {
            throw CommandFailure(.usage, "`uninstall` takes no operands")
        }
        var status = ExitStatus.done
        var removed: [String] = []
        do throws(CommandFailure) {
            removed += try Starters.disableUserService(
                path, composition.configurationFolder,
                isUsual: path == composition.userJobFilePath)
        } catch {
            status = report(error)
        }
        do throws(CommandFailure) {
            if try Starters.removeFromCrontab(path) {
                removed.append("the line of your crontab that starts the jobs of \(path)")
            }
        } catch {
            status = report(error)
        }
        let answers = SetupMemory(for: path)
        if !answers.isEmpty {
            answers.remove()
            removed.append(answers.path)
        }
        removed.forEach { say("removed: \($0)") }
        if removed.isEmpty, status == .done { say("nothing that `init` installed starts \(path)") }
        sayWhatStays()
        return status
    }

    /// Shows a failure, which must not keep the rest from being removed.
    private func report(_ failure: CommandFailure) -> ExitStatus {
        failure.lines.forEach { composition.console.fault("clarity-jobs: \($0)") }
        return failure.status
    }

    private func sayWhatStays() {
        if path == Composition.serviceJobFilePath {
            say("the service of the machine stays: sudo systemctl disable --now clarity-jobs")
        }
        let hasJobFile = access(path, F_OK) == 0
        if hasJobFile { say("stays: the job file \(path)") }
        let state = statePath
        guard access(state, F_OK) == 0 else { return }
        say("stays: history and data in \(state)")
        let key = "\(state)/keys/master.key"
        if access(key, F_OK) == 0 {
            say("stays: the key without which nobody can read the data, \(key)")
        }
        let files = (hasJobFile ? [path] : []) + [state]
        let config = path == composition.userJobFilePath ? "" : " --config \(shellQuoted(path))"
        if hasJobFile { say("to delete the data: clarity-jobs auth logout --forget-data\(config)") }
        say("then the rest: rm -r \(files.map(shellQuoted).joined(separator: " "))")
    }

    /// The state directory that the job file names, also if the file has a fault elsewhere.
    private var statePath: String {
        do throws(JobFileFaults) {
            let reader = composition.jobFileReader
            let folder = reader.stateDirectory(in: try reader.bytes(of: path), path: path)
            return composition.statePath(named: folder)
        } catch {
            return composition.statePath(named: nil)
        }
    }

    private func say(_ line: String) { composition.console.note(line) }
}
