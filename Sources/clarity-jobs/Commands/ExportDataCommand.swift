import ClarityJobs
import ClarityReports
import ClarityScheduler
import ClaritySystem
import Glibc

/// `export-data`: gives the records of the archive back, in the clear.
struct ExportDataCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func run() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        guard arguments.operands.isEmpty, let path = arguments["out"], !path.isEmpty else {
            throw CommandFailure(
                .usage, "`export-data` wants a place for the records: --out PATH")
        }
        let format = arguments["format"].flatMap { RecordExport.Format(rawValue: $0) } ?? .csv
        let (since, until) = (try composition.time("since"), try composition.time("until"))
        let file = try composition.jobFile()
        guard let store = try composition.healthStore(file, as: "export-data") else {
            throw CommandFailure(
                .missingInput, "no health data is kept yet; run `clarity-jobs import FILE`")
        }
        let types = try composition.archivedTypes(
            of: store, named: arguments.all("types").flatMap { $0.split(separator: ",") })
        let export = RecordExport(
            store.archive, as: format, to: composition.absolute(path), since: since,
            until: until)
        // Recorded first, so that nothing is given out that is not in the log.
        try usingHealthData { () throws(HealthStoreError) in
            try store.audit.record(
                .exported, ["months of records": Int64(types.reduce(0) { $0 + $1.months.count })],
                detail: "as \(format.rawValue), by export-data")
        }
        var bar = ExportBar(isShown: !composition.console.isQuiet, clock: SystemClock())
        let receipt = try exporting { () throws(RecordExport.Fault) in
            defer { bar.erase() }
            return try export.run(types) { bar.show($0) }
        }
        composition.console.results(receipt.lines, receipt.object)
        composition.console.note(
            "clarity-jobs: what it wrote is not encrypted: keep it where only you can read it")
        return receipt.damaged.isEmpty ? .done : .failed
    }

    private func exporting<Result>(
        _ body: () throws(RecordExport.Fault) -> Result
    ) throws(CommandFailure) -> Result {
        do throws(RecordExport.Fault) {
            return try body()
        } catch {
            switch error {
            case .notEmpty(let path):
                throw CommandFailure(.configuration, "`\(path)` is not empty; name another folder")
            case .exists(let path):
                throw CommandFailure(
                    .configuration, "`\(path)` is there already; name another file")
            case .database(let reason, let path):
                throw CommandFailure(.disk, "cannot write `\(path)`: \(reason)")
            case .system(let path, let code):
                throw CommandFailure(
                    .disk, "cannot write `\(path)`: \(String(cString: strerror(code)))")
            case .store(let error): throw CommandFailure(error)
            }
        }
    }
}

extension Composition {
    /// Returns the types of the archive that are wanted; all without a name.
    func archivedTypes(
        of store: HealthStore, named names: [some StringProtocol]
    ) throws(CommandFailure) -> [ArchivedType] {
        let all = try usingHealthData { () throws(HealthStoreError) in try store.archive.types() }
        guard !all.isEmpty else {
            throw CommandFailure(
                .missingInput, "the archive has no records yet; an Apple Health export brings them")
        }
        guard !names.isEmpty else { return all }
        var chosen: [ArchivedType] = []
        for name in names {
            let found = all.filter { $0.isMeant(by: String(name)) }
            guard !found.isEmpty else {
                let suggestion = didYouMean(String(name), among: all.map(\.shortName))
                throw CommandFailure(
                    .usage, "the archive has no records of the type `\(name)`\(suggestion)")
            }
            chosen += found.filter { !chosen.contains($0) }
        }
        return chosen
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
