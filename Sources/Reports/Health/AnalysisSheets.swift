public import HealthStore
public import HealthModel
import ClarityScheduler
import JSON

// The list of analysed weeks, and a single analysis.

extension SheetReader {
    /// The maximum number of analyses in a list.
    private static var analysisLimit: Int { 1000 }

    /// Returns the analyses of weeks that end between two days, the latest 1,000, latest first.
    ///
    /// - Parameters:
    ///   - since: the first day; `nil` for the first one there is.
    ///   - until: the last day; `nil` for the last one there is.
    public func analyses(since: Since?, until: CivilDay?) throws(HealthStoreError) -> Sheet {
        var local = LocalDays(zone: zone)
        let last = until?.daysSince1970 ?? Int(Int32.max)
        let today = min(last, local.day(at: now.secondsSince1970).number)
        let first =
            switch since {
            case .days(let count): today - count + 1
            case .date(let day): min(day.daysSince1970, last)
            case nil: Int(Int32.min)
            }
        let found = try store.analyses.entries(
            ofWeeksEndingIn:
                CivilDay(daysSince1970: first)...CivilDay(daysSince1970: last),
            limit: SheetReader.analysisLimit)
        var sheet = sheet(found)
        sheet.lines = style.table(
            ["NUMBER", "LAST DAY", "STATE", "KNOWN", "RESULT"], found.entries.map(\.cells),
            right: [0, 3])
        if found.entries.isEmpty {
            let isAny = since == nil && until == nil
            sheet.lines = [
                isAny ? "no week has been analysed yet" : "no analysed week ends in this time"
            ]
        }
        sheet.page = .array(sheet.records)
        return sheet
    }

    /// Returns the analysis with this number; `nil` if there is none.
    public func analysis(_ number: Int64) throws(HealthStoreError) -> Sheet? {
        let found = try store.analyses.entries(
            ofWeeksEndingIn:
                CivilDay(
                    daysSince1970: .init(Int32.min))...CivilDay(
                    daysSince1970: .init(Int32.max)),
            number: number, limit: 1)
        var sheet = sheet(found)
        guard let entry = found.entries.first else { return found.damaged.isEmpty ? nil : sheet }
        sheet.lines = entry.lines(style)
        sheet.page = entry.json.adding(["answer": entry.answer])
        sheet.records = [sheet.page]
        return sheet
    }

    /// Returns a sheet for programs, with a row of cells for each number of a result.
    private func sheet(_ found: AnalysisEntries) -> Sheet {
        var sheet = Sheet()
        sheet.damaged = found.damaged
        sheet.counts = ["analyses": Int64(found.entries.count)]
        sheet.records = found.entries.map(\.json)
        sheet.cells = [
            ["number", "first_day", "last_day", "state", "known_minutes", "name", "value"]
        ]
        for entry in found.entries {
            let head = [
                "\(entry.analysis.id)", "\(entry.firstDay)", "\(entry.analysis.lastDay)",
                entry.analysis.state.rawValue, "\(entry.analysis.knownMinutes)",
            ]
            let numbers = entry.numbers.map { [$0.name, $0.value.line] }
            for number in numbers.isEmpty ? [["", ""]] : numbers {
                sheet.cells.append(head + number)
            }
        }
        return sheet
    }
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

    fileprivate var cells: [String] {
        let numbers = shownNumbers.map { $0.joined(separator: " ") }.joined(separator: ", ")
        return [
            "\(analysis.id)", "\(analysis.lastDay)", analysis.state.rawValue, knownText,
            result == nil ? DisplayText.line(reason ?? "") : numbers,
        ]
    }

    /// The whole answer as the backend sent it; null if it was too large to be stored.
    fileprivate var answer: JSON {
        do throws(JSONFault) {
            return try JSONParser.parse(result?.json ?? [])
        } catch {
            return .null
        }
    }

    fileprivate var json: JSON {
        [
            "number": .integer(analysis.id), "first_day": .string("\(firstDay)"),
            "last_day": .string("\(analysis.lastDay)"), "form": .string(analysis.form.rawValue),
            "state": .string(analysis.state.rawValue),
            "known_minutes": .count(analysis.knownMinutes), "made_at": .text(madeAt),
            "accepted_at": .text(analysis.acceptedAt), "finished_at": .text(finishedAt),
            "reason": .text(reason), "insight": .text(insightID),
            "numbers": .object(numbers),
            "embedding": .array((result?.embedding ?? []).map { .number($0) }),
        ]
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
