import ClarityScheduler
import ClarityTestSupport
import Foundation
import Testing

@Suite("The table of docs/scheduling.md")
struct SchedulingPageTests {
    private struct Row {
        var setting: String
        var cells: [String]
    }

    private func rows() throws -> [Row] {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../docs/scheduling.md").standardized
        let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
        let start = try #require(lines.firstIndex { $0.hasPrefix("| setting |") })
        return lines[start...].prefix { $0.hasPrefix("|") }.filter { !$0.hasPrefix("|--") }.map {
            let cells = $0.split(separator: "|").map { $0.trimming(while: { $0 == " " }) }
            return Row(setting: String(cells[0]), cells: cells.dropFirst().map(String.init))
        }
    }

    /// The settings for the names of the table's rows.
    private let settings: [String: (CatchUpPolicy, Duration?, OverlapPolicy)] = [
        "`catch_up: latest`": (.latest, nil, .queue),
        "`catch_up: latest, start_within: 45m`": (.latest, .seconds(45 * 60), .queue),
        "`catch_up: latest, start_within: 20m`": (.latest, .seconds(20 * 60), .queue),
        "`catch_up: none`": (.none, nil, .queue),
        "`catch_up: all`": (.all(CatchUpBounds()), nil, .queue),
        "`catch_up: { at_most: 3 }`": (.all(CatchUpBounds(atMost: 3)), nil, .queue),
        "`catch_up: { within: 3h }`":
            (.all(CatchUpBounds(window: .seconds(3 * 3600))), nil, .queue),
        "`catch_up: all, start_within: 90m`": (.all(CatchUpBounds()), .seconds(90 * 60), .queue),
        "`catch_up: latest, overlap: skip`": (.latest, nil, .skip),
        "`catch_up: all, overlap: skip`": (.all(CatchUpBounds()), nil, .skip),
        "`catch_up: latest, overlap: replace`": (.latest, nil, .replace),
        "`catch_up: all, overlap: replace`": (.all(CatchUpBounds()), nil, .replace),
    ]

    @Test func `each cell says what the scheduler does`() throws {
        let rows = try rows()
        let header = try #require(rows.first)
        let causes = try header.cells.map { try #require(MissedCause(rawValue: $0)) }

        #expect(Set(causes) == Set(MissedCause.allCases))
        #expect(Set(rows.dropFirst().map(\.setting)) == Set(settings.keys))
        for row in rows.dropFirst() {
            let (catchUp, startWithin, overlap) = try #require(settings[row.setting])
            for (cause, cell) in zip(causes, row.cells) {
                let day = try MissedDay(
                    cause, catchUp: catchUp, startWithin: startWithin, overlap: overlap)
                #expect(said(day.starts) == cell, "\(row.setting), \(cause.rawValue)")
                #expect(day.unaccounted == 0, "\(row.setting), \(cause.rawValue)")
            }
        }
    }

    private func said(_ starts: [MissedDay.Start]) -> String {
        guard let first = starts.first?.occurrence, let last = starts.last?.occurrence else {
            return "none"
        }
        return first == last ? first : "\(first) to \(last)"
    }
}

extension Substring {
    fileprivate func trimming(while isTrimmed: (Character) -> Bool) -> Substring {
        var trimmed = drop(while: isTrimmed)
        while let last = trimmed.last, isTrimmed(last) { trimmed.removeLast() }
        return trimmed
    }
}
