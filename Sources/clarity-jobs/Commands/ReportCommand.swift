import HealthStore
import Reports
import ClarityScheduler
import Platform

/// `report`: writes a month or a year as one page, in the clear.
struct ReportCommand: ComposedCommand {
    let composition: Composition

    func run() throws(CommandFailure) -> ExitStatus {
        let arguments = composition.arguments
        guard arguments.operands.isEmpty, let out = arguments["out"], !out.isEmpty else {
            throw CommandFailure(
                .usage, "`report` wants a place for the page: --out FILE; `-` is standard output")
        }
        let path = out == "-" ? nil : composition.absolute(out)
        let wanted = try composition.month()
        let year = try composition.year(arguments["year"], "--year")
        if wanted != nil, year != nil {
            throw CommandFailure(.usage, "--month and --year exclude each other")
        }
        let file = try composition.jobFile()
        guard let store = try composition.healthStore(file, as: "report") else {
            throw CommandFailure(.missingInput, Self.noData)
        }
        if let path {
            try exporting { () throws(RecordExport.Fault) in try checkReportPath(path) }
        }
        let reader = try composition.healthReader(of: store, file, .json)
        let report: any PrintedReport
        let result: WrittenReport
        if let year {
            let found = try Self.report(of: year, reader)
            (report, result) = (found, WrittenReport(yearReport: found, path: path ?? "-"))
        } else {
            let found = try Self.report(of: wanted ?? reader.lastMonth, reader)
            (report, result) = (found, WrittenReport(monthReport: found, path: path ?? "-"))
        }
        // Recorded first, so that nothing is given out that is not in the log.
        try usingHealthData { () throws(HealthStoreError) in
            try store.audit.record(
                .exported, report.counts, detail: "as html: report of \(result.period)")
        }
        if let path {
            try exporting { () throws(RecordExport.Fault) in try report.write(to: path) }
            composition.console.results([result.line], result)
        } else {
            composition.console.text(report.html())
        }
        composition.console.note(
            "clarity-jobs: the report is not encrypted: give it only to whom it is for")
        guard let damage = report.damageLine else { return .done }
        throw CommandFailure(.failed, damage)
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

    private static func report(
        of year: Int, _ reader: HealthReader
    ) throws(CommandFailure) -> YearReport {
        let report = try usingHealthData { () throws(HealthStoreError) in
            try reader.yearReport(year)
        }
        guard report.hasData else {
            throw CommandFailure(.missingInput, "no data is kept of `\(year)`")
        }
        return report
    }
}

/// The result of `report`.
struct WrittenReport: Reported {
    let path: String
    /// The month or year, such as `2026-10`.
    let period: String
    /// The same for people.
    private let title: String
    private let knownDays: Int
    private let isOver: Bool
    private let isYear: Bool

    init(monthReport report: MonthReport, path: String) {
        self.path = path
        (period, title) = (report.month.description, report.month.title)
        (knownDays, isOver, isYear) = (report.knownDays, !report.isUnfinished, false)
    }

    init(yearReport report: YearReport, path: String) {
        self.path = path
        (period, title) = ("\(report.year)", "\(report.year)")
        (knownDays, isOver, isYear) = (report.knownDays, report.isOver, true)
    }

    /// The result in a sentence.
    var line: String {
        let days = "\(counted(knownDays, "days")) with data"
        let end = isOver ? "" : "; the \(isYear ? "year" : "month") is not over yet"
        return "\(title), \(days), in \(path)\(end)"
    }

    static let report = Report<WrittenReport>([
        Column("path", "the file; with `--out -` there is only the page") { $0.path },
        Column("month", "the month, such as `2026-10`; null for a year") {
            $0.isYear ? nil : $0.period
        },
        Column("year", "the year, such as `2025`; null for a month") {
            $0.isYear ? $0.period : nil
        },
        Column("days_with_data", "number of days with a value, a night or a workout") {
            $0.knownDays
        },
        Column("is_over", "whether the month or year has ended") { $0.isOver },
    ])
}
