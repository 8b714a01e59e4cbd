import ClarityHost
import ClarityScheduler
import Platform
import Reports
import HealthStore
@preconcurrency import Glibc

/// `validate`: checks the job file, reports every fault in it, and warns of settings that can never
/// take effect.
struct ValidateCommand: ComposedCommand {
    let composition: Composition
    private var console: Console { composition.console }

    func run() throws(CommandFailure) -> ExitStatus {
        let path = try composition.jobFilePath()
        do throws(JobFileFaults) {
            let file = try composition.jobFileReader.read(
                fileAt: path, warningAt: composition.clock.now)
            show(file, file.warnings + missingPlaces(file) + writers(path), path)
            return .done
        } catch {
            guard console.form != .table else {
                throw CommandFailure(.faultyInput, text: error.description)
            }
            show(faults: error.faults, warnings: error.warnings)
            return .faultyInput
        }
    }

    /// Returns why no command runs the jobs of the file, if somebody else may write it.
    private func writers(_ path: String) -> [JobFileFault] {
        do throws(JobFileFaults) {
            _ = try composition.runnersReader.read(fileAt: path)
            return []
        } catch {
            return error.writer == nil ? [] : error.faults
        }
    }

    /// Returns a warning for each program, folder and source that is not there now.
    private func missingPlaces(_ file: JobFile) -> [JobFileFault] {
        let environment = composition.commandEnvironment(file)
        var warnings: [JobFileFault] = []
        for job in file.distinctJobs where job.kind == .command {
            do throws(Failure) {
                let plan = try CommandPlan(job.options)
                warnings += plan.missing(over: environment).map {
                    .general("job `\(job.id)`: \($0.message)", help: $0.help)
                }
            } catch {
                // The reader has checked the options.
                warnings.append(.general("job `\(job.id)`: \(error.reason)"))
            }
        }
        do throws(Failure) {
            for target in try file.sections.targets where target.kind == .command {
                warnings += CommandPlan.missing(target.words, in: environment).map {
                    .general("target `\(target.name)` of `notify`: \($0.message)", help: $0.help)
                }
            }
        } catch {
            warnings.append(.general(error.reason))
        }
        // With accounts, each has sources of its own, which come and go with it.
        guard file.accounts == nil else { return warnings }
        do throws(Failure) {
            for source in try file.sections.sources where access(source.path, F_OK) != 0 {
                warnings.append(
                    .general("source `\(source.path)` is not there: \(SystemError().reason)"))
            }
        } catch {
            warnings.append(.general(error.reason))
        }
        return warnings
    }

    private func show(_ file: JobFile, _ warnings: [JobFileFault], _ path: String) {
        guard console.form == .table else { return show(faults: [], warnings: warnings) }
        guard !console.isQuiet else { return }
        for warning in warnings {
            warning.text(path: path, isWarning: true).split(separator: "\n")
                .forEach { console.note(String($0)) }
        }
        let declared = file.jobs.count - file.implied.count
        var summary = "\(path): valid, \(counted(declared, "jobs"))"
        for job in file.implied.sorted() { summary += " and \(job)" }
        if let accounts = file.accounts {
            summary += " for \(counted(accounts.count, "accounts"))"
        }
        if !warnings.isEmpty { summary += ", \(counted(warnings.count, "warnings"))" }
        console.show(summary)
        let implied = file.jobs.filter { !$0.impliedConstraints.isEmpty }.map(\.id.rawValue)
        if !implied.isEmpty {
            let names = implied.joined(separator: ", ")
            console.show("implied: `network: any` for \(names); `network: none` turns it off")
        }
    }

    /// Writes faults and warnings as JSON, sorted by file, line and column.
    private func show(faults: [JobFileFault], warnings: [JobFileFault]) {
        let findings =
            faults.map { JobFileFinding(fault: $0, severity: "fault") }
            + warnings.map { JobFileFinding(fault: $0, severity: "warning") }
        console.results(
            findings.sorted { first, second in
                let (a, b) = (first.fault, second.fault)
                return (a.file ?? "", a.line, a.column) < (b.file ?? "", b.line, b.column)
            })
    }
}

/// A fault of the job file, or a warning.
struct JobFileFinding: Reported {
    let fault: JobFileFault
    let severity: String

    static let report = Report<JobFileFinding>([
        Column("severity", "`fault` or `warning`") { $0.severity },
        Column("file", "path of the account's file that has it, if one does") { $0.fault.file },
        Column("line", "line in the job file or in that file, from 1") {
            $0.fault.line == 0 ? nil : $0.fault.line
        },
        Column("column", "column in that line, from 1") {
            $0.fault.line == 0 ? nil : $0.fault.column
        },
        Column("path", "path of the setting") { $0.fault.path },
        Column("message", "what is wrong") { $0.fault.message },
        Column("remedy", "what mends it") { $0.fault.help },
    ])
}

/// `doctor`: shows this machine's conditions, their sources, and what is missing to know more.
struct DoctorCommand: ComposedCommand {
    let composition: Composition

    func run() throws(CommandFailure) -> ExitStatus {
        if composition.arguments.has("backend") {
            return try AuthCommand(composition).checkBackend()
        }
        let file = try composition.jobFile()
        let diagnosis = composition.conditions(file, asksServices: true).diagnosis(
            asking: Set(file.questions.map(\.name)))
        let text = DoctorReport(
            conditions: diagnosis.conditions,
            members: ConditionsNotation.members(diagnosis.conditions),
            remedies: diagnosis.remedies,
            subscriptions: diagnosis.subscriptions.map { ($0.subject, $0.fault) },
            now: composition.clock.now, style: composition.console.terminalStyle)
        composition.console.results(text.lines, text)
        return .done
    }
}
