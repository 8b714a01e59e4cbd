import ClarityHost
import HealthStore
import Reports
import ClarityScheduler
import Platform

/// `report`: writes a month as one page, in the clear.
struct ReportCommand {
    private let composition: Composition

    init(_ composition: Composition) { self.composition = composition }

    func run() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        guard arguments.operands.isEmpty, let out = arguments["out"], !out.isEmpty else {
            throw CommandFailure(
                .usage, "`report` wants a place for the page: --out FILE; `-` is standard output")
        }
        let path = out == "-" ? nil : composition.absolute(out)
        let wanted = try month()
        let file = try composition.jobFile()
        guard let store = try composition.healthStore(file, as: "report") else {
            throw CommandFailure(.missingInput, Self.noData)
        }
        if let path {
            try exporting { () throws(RecordExport.Fault) in try MonthReport.check(path) }
        }
        let reader = try composition.healthReader(of: store, file, .json)
        let month = wanted ?? reader.lastMonth
        let report = try Self.report(of: month, reader)
        // Recorded first, so that nothing is given out that is not in the log.
        try usingHealthData { () throws(HealthStoreError) in
            try store.audit.record(
                .exported, report.counts, detail: "as html: report of \(month)")
        }
        if let path {
            try exporting { () throws(RecordExport.Fault) in try report.write(to: path) }
            show(report, at: path)
        } else {
            composition.console.text(report.html())
        }
        composition.console.note(
            "clarity-jobs: the report is not encrypted: give it only to whom it is for")
        guard let damage = report.damageLine else { return .done }
        throw CommandFailure(.failed, damage)
    }

    /// Returns the month that is asked for, if one is.
    private func month() throws(CommandFailure) -> CivilMonth? {
        guard let text = composition.arguments["month"] else { return nil }
        guard let month = CivilMonth(text) else {
            throw CommandFailure(.usage, "--month is a month such as `2026-10`, got `\(text)`")
        }
        return month
    }

    private static let noData = "no health data is kept yet; run `clarity-jobs import FILE`"

    private static func report(
        of month: CivilMonth, _ reader: HealthReader
    ) throws(CommandFailure) -> MonthReport {
        do throws(MonthFault) {
            return try reader.report(of: month)
        } catch {
            switch error {
            case .notBegun: throw CommandFailure(.usage, "`\(month)` has not begun yet")
            case .tooEarly(let first):
                throw CommandFailure(
                    .missingInput, "no data is kept of `\(month)`; the first month is `\(first)`")
            case .noData: throw CommandFailure(.missingInput, noData)
            case .store(let error): throw CommandFailure(error)
            }
        }
    }

    private func show(_ report: MonthReport, at path: String) {
        let days = "\(counted(report.knownDays, "days")) with data"
        let end = report.isUnfinished ? "; the month is not over yet" : ""
        composition.console.results(
            ["\(report.month.title), \(days), in \(path)\(end)"],
            WrittenReport(monthReport: report, path: path))
    }
}

/// The result of `report`.
struct WrittenReport: Reported {
    let monthReport: MonthReport
    let path: String

    static let report = Report<WrittenReport>([
        Column("path", "the file; with `--out -` there is only the page") { $0.path },
        Column("month", "the month, such as `2026-10`") { $0.monthReport.month.description },
        Column("days_with_data", "number of days with a value, a night or a workout") {
            $0.monthReport.knownDays
        },
        Column("is_over", "whether the month has ended") { !$0.monthReport.isUnfinished },
    ])
}
