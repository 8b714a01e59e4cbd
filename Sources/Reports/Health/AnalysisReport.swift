public import HealthStore
public import HealthModel
import ClarityScheduler
import JSON

// The list of analysed weeks, and a single analysis.

extension HealthReader {
    /// The maximum number of analyses in a list.
    private static var analysisLimit: Int { 1000 }

    /// Returns the analyses of weeks that end between two days, the latest 1,000, latest first.
    ///
    /// - Parameters:
    ///   - since: the first day; `nil` for the first one there is.
    ///   - until: the last day; `nil` for the last one there is.
    public func analyses(since: Since?, until: CivilDay?) throws(HealthStoreError) -> HealthReport {
        var local = LocalDays(zone: zone)
        let last = until?.daysSince1970 ?? Int(Int32.max)
        let today = min(last, local.day(at: now.secondsSince1970).number)
        let first = since.map { $0.first(upTo: $0.isDate ? last : today) } ?? Int(Int32.min)
        let found = try store.analyses.entries(
            ofWeeksEndingIn:
                CivilDay(daysSince1970: first)...CivilDay(daysSince1970: last),
            limit: HealthReader.analysisLimit)
        let isAny = since == nil && until == nil
        let absence =
            hasBackend
            ? "no week has been analysed yet"
            : "no week was analysed: a server does that, and the job file names none"
        return report(found, absence: isAny ? absence : "no analysed week ends in this time")
    }

    /// Returns the analysis with this number; `nil` if there is none.
    public func analysis(_ number: Int64) throws(HealthStoreError) -> HealthReport? {
        let found = try store.analyses.entries(
            ofWeeksEndingIn:
                CivilDay(
                    daysSince1970: .init(Int32.min))...CivilDay(
                    daysSince1970: .init(Int32.max)),
            number: number, limit: 1)
        var report = report(found, absence: "")
        guard let entry = found.entries.first else {
            report.lines = []
            report.page = .null
            return found.damaged.isEmpty ? nil : report
        }
        report.lines = entry.lines(style)
        report.page = entry.object
        report.records = [report.page]
        return report
    }

    /// Returns a list, in which CSV has a row for each number of a result.
    private func report(_ found: AnalysisEntries, absence: String) -> HealthReport {
        var report = HealthReport()
        report.list(
            found.entries, AnalysisEntry.report.without(["answer"]), style, absence: absence)
        report.damaged = found.damaged
        report.counts = ["analyses": Int64(found.entries.count)]
        let heads = report.cells
        report.cells = [heads[0] + ["name", "value"]]
        for (entry, head) in zip(found.entries, heads.dropFirst()) {
            let numbers = entry.numbers.map { [$0.name, $0.value.line] }
            for number in numbers.isEmpty ? [["", ""]] : numbers {
                report.cells.append(head + number)
            }
        }
        return report
    }
}

extension AnalysisEntry: Reported {
    public static let report = Report<AnalysisEntry>(
        [
            Column("number", "number of the analysis") { $0.analysis.id }
                .shown("NUMBER", isNumber: true).csv(),
            Column("first_day", "first day of the week") { $0.firstDay }.csv(),
            Column("last_day", "last day of the week") { $0.analysis.lastDay }
                .shown("LAST DAY").csv(),
            Column("form", "what was sent: \(AnalysisForm.listed)") {
                $0.analysis.form.rawValue
            },
            Column("state", AnalysisState.listed) { $0.analysis.state.rawValue }
                .shown("STATE").csv(),
            Column("known_minutes", "number of minutes of the week that are known") {
                $0.analysis.knownMinutes
            }.shown("KNOWN", isNumber: true) { $0.knownText }.csv(),
            Column("made_at", "when it was queued") { $0.madeAt },
            Column("accepted_at", "when the backend accepted it") { $0.analysis.acceptedAt },
            Column("finished_at", "when it ended") { $0.finishedAt },
            Column("reason", "why it ended without a result") { $0.reason },
            Column("insight", "id of the insight about it") { $0.insightID },
            Column("numbers", "the numbers of the result by name", as: { .map(.number) }) {
                .object($0.numbers)
            }.shown("RESULT") { $0.resultText },
            Column("embedding", "the movement as a point in the model's space") {
                $0.result?.embedding ?? []
            },
            Column(
                "answer",
                "the backend's whole answer; only with a number, and if it was stored"
            ) { $0.answer }.optional(),
        ], name: "analysis")
}

extension AnalysisEntry {
    fileprivate var firstDay: CivilDay {
        CivilDay(daysSince1970: analysis.lastDay.daysSince1970 - 6)
    }

    /// The numbers of the result by name, as they were received.
    fileprivate var numbers: [JSON.Member] {
        (result?.numbers ?? [:]).sorted { $0.key < $1.key }.map { name, number in
            JSON.Member(
                name: name, value: Int64(exactly: number).map { .integer($0) } ?? .number(number))
        }
    }

    /// The numbers of the result for people.
    private var shownNumbers: [[String]] {
        (result?.numbers ?? [:]).sorted { $0.key < $1.key }.map {
            [$0.key, fixedText($0.value, decimals: 3)]
        }
    }

    private var knownText: String {
        let percent = Double(analysis.knownMinutes) / Double(MovementWeek.minutes) * 100
        return "\(fixedText(percent, decimals: 0)) %"
    }

    private var resultText: String {
        guard result != nil else { return DisplayText.line(reason ?? "") }
        return shownNumbers.map { $0.joined(separator: " ") }.joined(separator: ", ")
    }

    /// The whole answer as the backend sent it; null if it was too large to be stored.
    fileprivate var answer: JSON {
        do throws(JSONFault) {
            return try JSONParser.parse(result?.json ?? [])
        } catch {
            return .null
        }
    }

    /// Returns the analysis as lines for people.
    fileprivate func lines(_ style: PageStyle) -> [String] {
        var state = "\(analysis.state.rawValue) \(finishedAt ?? madeAt)"
        if finishedAt == nil { state = "\(analysis.state.rawValue), made \(madeAt)" }
        var lines = [
            style.heading("analysis \(analysis.id), \(firstDay) to \(analysis.lastDay)"), "",
            "state: \(state)",
            "sent as: \(analysis.form.rawValue), \(analysis.knownMinutes) of "
                + "\(MovementWeek.minutes) minutes known",
        ]
        if let reason { lines.append("reason: \(DisplayText.line(reason))") }
        if let insightID { lines.append("insight: \(DisplayText.line(insightID))") }
        guard let result else { return lines }
        if !result.embedding.isEmpty {
            lines.append("embedding: \(result.embedding.count) numbers, in --output json")
        }
        return lines + [""] + style.table(["NAME", "VALUE"], shownNumbers, right: [1])
    }
}
