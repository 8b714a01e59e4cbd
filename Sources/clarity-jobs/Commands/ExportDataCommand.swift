import HealthStore
import Reports
import ClarityScheduler
import Platform
@preconcurrency import Glibc

/// `export-data`: gives the records of the archive back, in the clear.
struct ExportDataCommand: ComposedCommand {
    let composition: Composition

    func run() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        guard arguments.operands.isEmpty, let path = arguments["out"], !path.isEmpty else {
            throw CommandFailure(
                .usage, "`export-data` wants a place for the records: --out PATH")
        }
        guard arguments.has("all") else { return try export(to: composition.absolute(path)) }
        guard arguments["patient"] == nil else {
            throw CommandFailure(
                .usage, "--patient is one person, and --all writes what several have")
        }
        let folder = composition.absolute(path)
        let makeFolder = { (_: Composition) throws(CommandFailure) -> ExitStatus in
            guard StateDirectory.makeFolders(folder) else {
                let problem = SystemError().reason
                throw CommandFailure(.disk, "cannot make the folder `\(folder)`: \(problem)")
            }
            return .done
        }
        return try EachAccount(composition).run(first: makeFolder) {
            own, account throws(CommandFailure) in
            do throws(CommandFailure) {
                return try ExportDataCommand(own).export(to: "\(folder)/\(account)")
            } catch  where error.status == .missingInput {
                // An account without records is no failure of the others.
                error.lines.forEach { own.console.note($0) }
                return .done
            }
        }
    }

    private func export(to path: String) throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        let format = arguments["format"].flatMap(ExportDataOptions.Format.init) ?? .csv
        let (since, until) = (try composition.time("since"), try composition.time("until"))
        let patient = try arguments["patient"].map { text throws(CommandFailure) in
            guard format == .fhir else {
                throw CommandFailure(.usage, "--patient is for --format fhir")
            }
            guard let patient = FHIRPatient(text) else {
                throw CommandFailure(.usage, "--patient is \(FHIRPatient.form), got `\(text)`")
            }
            return patient
        }
        let grain = arguments["grain"].flatMap(FHIRGrain.init) ?? .single
        guard format == .fhir || arguments["grain"] == nil else {
            throw CommandFailure(.usage, "--grain is for --format fhir")
        }
        let file = try composition.jobFile()
        guard let store = try composition.healthStore(file, as: "export-data") else {
            throw CommandFailure(
                .missingInput, "no health data is kept yet; run `clarity-jobs import FILE`")
        }
        let types = try composition.archivedTypes(
            of: store, named: arguments.all("types").flatMap { $0.split(separator: ",") })
        let export = RecordExport(
            store, as: format, to: path, of: patient, by: grain,
            in: try composition.dayZone(of: store, file), since: since, until: until)
        StopSignal.prepare()
        var bar = ExportBar(isShown: !composition.console.isQuiet, clock: SystemClock())
        let receipt = try exporting { () throws(RecordExport.Fault) in
            defer { bar.erase() }
            return try export.run(types) { progress throws(RecordExport.Fault) in
                if StopSignal.received != nil { throw .stopped }
                bar.show(progress)
            }
        }
        composition.console.results(receipt.lines, receipt)
        composition.console.note(
            "clarity-jobs: what it wrote is not encrypted: keep it where only you can read it")
        return receipt.damaged.isEmpty ? .done : .failed
    }
}

/// Runs `body` and turns an error of an export into a failure of the command.
func exporting<Result>(
    _ body: () throws(RecordExport.Fault) -> Result
) throws(CommandFailure) -> Result {
    do throws(RecordExport.Fault) {
        return try body()
    } catch {
        switch error {
        case .store(let error): throw CommandFailure(error)
        case .unknownType: throw CommandFailure(.usage, error.failure.reason)
        case .stopped:
            throw CommandFailure(StopSignal.status, "interrupted; each file that is there is whole")
        default: throw CommandFailure(error.failure)
        }
    }
}

extension Composition {
    /// Returns the types of the archive that are wanted; all without a name.
    func archivedTypes(
        of store: HealthStore, named names: [some StringProtocol]
    ) throws(CommandFailure) -> [ArchivedType] {
        let types = try exporting { () throws(RecordExport.Fault) in
            try RecordExport.types(of: store, named: names.map { String($0) })
        }
        guard !types.isEmpty else {
            throw CommandFailure(
                .missingInput, "the archive has no records yet; an Apple Health export brings them")
        }
        return types
    }
}

/// Shows on a terminal how far an export is.
private struct ExportBar {
    private var line: TerminalLine?
    private var bar: ProgressBar
    private let clock: any WallClock

    init(isShown: Bool, clock: any WallClock) {
        line = isShown ? TerminalLine() : nil
        bar = ProgressBar(at: clock.elapsed)
        self.clock = clock
    }

    mutating func show(_ progress: RecordExport.Progress) {
        let now = clock.elapsed
        guard let width = line?.width, bar.isDue(at: now) else { return }
        // The archive knows how many months it has; how many records is in them, encrypted.
        let share = Double(progress.months) / Double(max(progress.allMonths, 1))
        var facts = [
            "\(ProgressBar.percent(share)) %", counted(progress.records, "records"),
            "month \(progress.months) of \(progress.allMonths)",
        ]
        if let left = bar.timeLeft(share, at: now) { facts.append(left) }
        line?.draw(ProgressBar.text(facts, share: share, width: width))
    }

    mutating func erase() { line?.erase() }
}
