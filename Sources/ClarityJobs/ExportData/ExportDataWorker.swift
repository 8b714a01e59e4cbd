import HealthStore
import Reports
import ClarityScheduler

/// Writes the records of the archive into a folder that always has the last complete export.
///
/// An attempt that is stopped or killed changes nothing there, and the next one begins anew.
struct ExportDataWorker: KindWorker {
    var changesHealthData: Bool { false }

    func run(_ options: ExportDataOptions, _ context: WorkContext) async throws -> Outcome {
        var counts = WorkCounts(context)
        let names = options.types?.split(separator: "\n").map(String.init) ?? []
        let types = try RecordExport.types(of: context.store, named: names)
        guard !types.isEmpty else {
            context.note("the archive has no records yet")
            return .success
        }
        let what = "\(counted(types.count, "types")) as \(options.format.rawValue)"
        guard !context.isDryRun else {
            context.note("would write \(what) to `\(options.folder)`, not encrypted")
            return .success
        }
        let zone = try context.zones.dayZone(
            of: context.store, named: context.sections.sourceZone)
        var written: Int64 = 0
        let receipt = try ExportFolder(options.folder).replace(
            types, of: context.store, as: options.format,
            for: options.patient.flatMap(FHIRPatient.init), by: options.grain, in: zone,
            at: context.clock.now
        ) { progress throws(RecordExport.Fault) in
            if context.isEnding() { throw .stopped }
            context.report(
                .progress(done: Int64(progress.months), total: Int64(progress.allMonths)))
            written = progress.records
        }
        counts.add(written, to: "records_written")
        context.note("wrote \(what) to `\(receipt.path)`, not encrypted")
        return .success
    }
}

extension ExportDataOptions: WorkedOptions {
    static var worker: any KindWorker { ExportDataWorker() }
}

extension RecordExport.Fault {
    /// What the fault means for an attempt, but for one of the store. A disk may have space again, and
    /// a folder of the network be back.
    var outcome: Outcome {
        switch self {
        case .system, .database, .busy, .stopped: .retry(after: nil, failure)
        case .notEmpty, .exists, .unknownType, .damaged, .store: .failure(failure)
        }
    }
}
