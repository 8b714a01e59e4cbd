import HealthModel
import ClarityScheduler
import Testing

@testable import Reports

@Suite struct MonthChartsTests {
    private let charts: MonthCharts
    private let first: Int

    init() throws {
        let month = try #require(CivilMonth("2026-10"))
        charts = MonthCharts(month: month, dates: LocalDates(zone: .utc))
        first = month.days.lowerBound
    }

    /// Returns the chart of days, each with its least, mean and greatest value.
    private func chart(
        _ measure: Measure, _ days: [(day: Int, least: Double, mean: Double, most: Double)]
    ) -> String? {
        let figures = days.map { day, least, mean, most in
            DayFigure(day: first + day - 1, count: 1, least: least, most: most, sum: mean)
        }
        return charts.chart(of: .init(measure: measure, days: figures, before: []))?.markup
    }

    private func numbers(_ svg: String?) -> [String] {
        (svg ?? "").matches(of: /text-anchor="end">([^<]*)</).map { String($0.output.1) }
    }

    @Test func `days with a gap between them are two lines, and every day has its dot`() throws {
        let svg = try #require(
            chart(.heartRate, [(1, 50, 60, 90), (2, 55, 61, 80), (4, 50, 62, 100)]))

        let line = try #require(svg.firstMatch(of: /class="mean" d="([^"]*)"/)).output.1
        #expect(line.filter { $0 == "M" }.count == 2 && line.filter { $0 == "L" }.count == 1)
        #expect(svg.matches(of: /class="dot"/).count == 3)
        #expect(svg.matches(of: /class="band"/).count == 3)
        #expect(
            svg.contains("<title>Fri 2 Oct: 61 /min, from 55 /min to 80 /min</title>"), "\(svg)")
    }

    @Test func `sums are bars that begin at zero`() {
        let svg = chart(.steps, [(1, 0, 8000, 0), (31, 0, 12_000, 0)])

        #expect(numbers(svg) == ["0", "5,000", "10,000", "15,000"])
        #expect(svg?.contains("<title>Sat 31 Oct: 12,000</title>") == true)
    }

    @Test func `long times are drawn in hours, and shares in percent`() {
        let hours = chart(.totalSleep, [(1, 0, 400, 0), (2, 0, 500, 0)])
        let minutes = chart(.awake, [(1, 0, 10, 0), (2, 0, 35, 0)])
        let shares = chart(.sleepEfficiency, [(1, 0.9, 0.9, 0.9), (2, 0.98, 0.98, 0.98)])

        #expect(numbers(hours) == ["0 h", "2 h", "4 h", "6 h", "8 h", "10 h"])
        #expect(numbers(minutes) == ["0", "10", "20", "30", "40"])
        #expect(numbers(shares) == ["90 %", "92 %", "94 %", "96 %", "98 %"])
    }

    @Test(arguments: [
        (0, 0, ["-0.5", "0.0", "0.5"]), (60, 60, ["56", "58", "60", "62", "64"]),
        (0, 1e-12, ["0.00", "0.00"]), (50, 100, ["40", "60", "80", "100"]),
    ])
    func `an axis has round numbers on both sides of its values`(
        least: Double, most: Double, numbers: [String]
    ) {
        #expect(self.numbers(chart(.heartRate, [(1, least, least, most)])) == numbers)
    }

    @Test func `numbers that are too large are not drawn`() {
        #expect(chart(.heartRate, [(1, 0, 1e12, 1e12)]) == nil)
        #expect(chart(.steps, [(1, 0, .infinity, 0)]) == nil)
        #expect(chart(.steps, [(1, 0, -.greatestFiniteMagnitude, 0)]) == nil)
    }

    @Test func `nights are on one clock, from the first full hour to the last`() {
        func night(_ day: Int, from: Int64, to: Int64) -> Night {
            let midnight = Int64(first + day - 1) * 86_400
            let part = Night.Part(
                stage: "AsleepCore", start: midnight + from * 60, end: midnight + to * 60)
            return Night(day: first + day - 1, start: part.start, end: part.end, parts: [part])
        }

        let rows = charts.nights([night(2, from: -90, to: 360), night(3, from: 30, to: 450)])

        // From 22:00 to 8:00: ten hours.
        #expect(rows.count == 3 && charts.nights([]).isEmpty)
        #expect(rows[0].markup.contains(#"x="5.000%" y="2" width="75.000%""#), "\(rows[0])")
        #expect(rows[1].markup.contains(#"x="25.000%" y="2" width="70.000%""#), "\(rows[1])")
        #expect(rows[1].markup.contains("Asleep from 00:30 to 07:30"))
        #expect(
            rows[2].markup.matches(of: />(\d+:00)</).map { String($0.output.1) }
                == ["22:00", "0:00", "2:00", "4:00", "6:00", "8:00"])
    }
}
