import HealthStore
import HealthModel
import ClarityScheduler
import Glibc

/// Draws the charts of a report as SVG.
struct MonthCharts {
    let month: CivilMonth
    let dates: LocalDates

    private static let size = (width: 340.0, height: 132.0)
    private static let plot = (left: 44.0, right: 336.0, top: 8.0, bottom: 112.0)

    /// Returns the chart of a metric: bars of totals, or bands from the least to the greatest value
    /// with a line of means; `nil` if the numbers are too large to be drawn.
    func chart(of metric: MonthReport.Metric) -> HTML? {
        let isMean = metric.measure.summing == .mean
        guard let extremes = metric.extremes else { return nil }
        // Numbers beside the chart are in the unit in which people read them.
        let (scale, unit) =
            switch metric.measure.unit {
            case "min" where extremes.most > 180: (60.0, " h")
            case "share": (0.01, " %")
            default: (1.0, "")
            }
        guard
            let axis = Axis(
                from: (isMean ? extremes.least : min(0, extremes.least)) / scale,
                to: extremes.most / scale)
        else { return nil }
        func height(_ value: Double) -> Double {
            let plot = MonthCharts.plot
            return plot.bottom - (plot.bottom - plot.top) * axis.share(value / scale)
        }
        var parts = grid(axis, unit)
        var line = ""
        var last: Int?
        for figure in metric.days {
            let x = place(figure.day)
            let (low, high) =
                isMean
                ? (height(figure.least), height(figure.most)) : (height(0), height(figure.sum))
            let title = HTML("title", text: title(of: figure, metric.measure))
            if isMean {
                // A day of one value, or of equal ones, is a dot on the line.
                parts.append(bar(x, low, high, "band", title))
                line +=
                    "\(figure.day - 1 == last ? "L" : "M")\(x.short) \(height(figure.mean).short)"
                last = figure.day
            } else {
                parts.append(bar(x, low, high, "bar", title))
            }
        }
        if isMean {
            parts.append(HTML("path.mean", ["d": line]))
            parts += metric.days.map { figure in
                HTML(
                    "circle.dot",
                    [
                        "cx": place(figure.day).short, "cy": height(figure.mean).short, "r": "1.7",
                    ])
            }
        }
        return HTML(
            "svg.chart",
            [
                "viewBox": "0 0 \(MonthCharts.size.width.short) \(MonthCharts.size.height.short)",
                "role": "img",
                "aria-label": "\(metric.measure.title), day by day; "
                    + "the table has the numbers",
            ], parts)
    }

    private func bar(
        _ x: Double, _ low: Double, _ high: Double, _ style: String, _ title: HTML
    ) -> HTML {
        let width = step * 0.62
        let attributes: HTML.Attributes = [
            "class": style, "x": (x - width / 2).short, "y": min(low, high).short,
            "width": width.short, "height": max(abs(low - high), 0.8).short, "rx": "1.2",
        ]
        return HTML("rect", attributes, title)
    }

    private func title(of figure: DayFigure, _ measure: Measure) -> String {
        func text(_ value: Double) -> String {
            MonthNumbers.text(value, unit: measure.unit, decimals: measure.decimals)
        }
        let day = dates.day(figure.day)
        guard measure.summing == .mean else { return "\(day): \(text(figure.sum))" }
        return "\(day): \(text(figure.mean)), from \(text(figure.least)) to \(text(figure.most))"
    }

    /// The width of a day.
    private var step: Double {
        (MonthCharts.plot.right - MonthCharts.plot.left) / Double(month.days.count)
    }

    /// The middle of a day.
    private func place(_ day: Int) -> Double {
        MonthCharts.plot.left + step * (Double(day - month.days.lowerBound) + 0.5)
    }

    private func grid(_ axis: Axis, _ unit: String) -> [HTML] {
        let (left, right) = (MonthCharts.plot.left, MonthCharts.plot.right)
        var parts: [HTML] = []
        for tick in axis.ticks {
            let plot = MonthCharts.plot
            let y = plot.bottom - (plot.bottom - plot.top) * axis.share(tick)
            let text = MonthNumbers.grouped(tick, decimals: axis.decimals) + unit
            parts.append(
                HTML(
                    "line.grid",
                    ["x1": left.short, "x2": right.short, "y1": y.short, "y2": y.short]))
            parts.append(
                HTML(
                    "text", ["x": (left - 5).short, "y": (y + 3).short, "text-anchor": "end"],
                    text: text))
        }
        for number in [1, 8, 15, 22, 29] where number <= month.days.count {
            parts.append(
                HTML(
                    "text",
                    [
                        "x": place(month.days.lowerBound + number - 1).short,
                        "y": (MonthCharts.plot.bottom + 14).short, "text-anchor": "middle",
                    ], text: "\(number)"))
        }
        return parts
    }

    // MARK: Nights

    /// The stages from the lightest to the deepest, with their names.
    static let stages = [
        ("Awake", "Awake"), ("AsleepREM", "REM"), ("AsleepCore", "Core"), ("AsleepDeep", "Deep"),
    ]

    /// Returns rows of nights on one clock, from the earliest beginning to the latest end.
    func nights(_ nights: [Night]) -> [HTML] {
        var days = LocalDays(zone: dates.zone)
        let midnights = nights.map { days.day($0.day).start }
        guard let first = zip(nights, midnights).map({ $0.start - $1 }).min(),
            let last = zip(nights, midnights).map({ $0.end - $1 }).max()
        else { return [] }
        let from = LocalDays.quotient(first, 3600) * 3600
        let to = (LocalDays.quotient(last - 1, 3600) + 1) * 3600
        func share(_ seconds: Int64) -> String {
            (100 * Double(seconds) / Double(to - from)).precise + "%"
        }
        var rows = zip(nights, midnights).map { night, midnight in
            let bars = night.parts.map { part -> HTML in
                let stage = MonthCharts.stages.map(\.0).contains(part.stage)
                let attributes: HTML.Attributes = [
                    // Sleep without stages counts as core.
                    "class": stage ? part.stage : "AsleepCore",
                    "x": share(part.start - midnight - from), "y": "2",
                    "width": share(part.end - part.start), "height": "11",
                ]
                return HTML("rect", attributes)
            }
            let times = [night.start, night.end].map {
                dates.clock(Instant(secondsSince1970: $0))
            }
            return HTML(
                "div.night", HTML("span", text: dates.shortDay(night.day)),
                HTML(
                    "svg",
                    [
                        "height": "15", "role": "img",
                        "aria-label": "Asleep from \(times[0]) to \(times[1])",
                    ], bars),
                HTML(
                    "span",
                    text: MonthNumbers.text(night.asleep, unit: "min", decimals: 0)))
        }
        rows.append(hours(from, to, share))
        return rows
    }

    private func hours(_ from: Int64, _ to: Int64, _ share: (Int64) -> String) -> HTML {
        let every: Int64 = to - from > 14 * 3600 ? 4 * 3600 : 2 * 3600
        let first = (LocalDays.quotient(from - 1, every) + 1) * every
        let marks = stride(from: first, through: to, by: Int(every)).map { at -> HTML in
            let hour = ((at / 3600) % 24 + 24) % 24
            let anchor = at == from ? "start" : at == to ? "end" : "middle"
            return HTML(
                "text", ["x": share(at - from), "y": "11", "text-anchor": anchor],
                text: "\(hour):00")
        }
        return HTML(
            "div.night", HTML("span"),
            HTML("svg", ["height": "15", "aria-hidden": "true"], marks), HTML("span"))
    }
}

/// Round numbers beside a chart.
private struct Axis {
    let ticks: [Double]
    let decimals: Int
    private let low: Double
    private let high: Double

    /// Returns `nil` if the numbers are too large for an axis.
    init?(from least: Double, to most: Double) {
        guard least.magnitude < 1e12, most.magnitude < 1e12, least <= most else { return nil }
        // Equal values are in the middle.
        let margin = least == most ? max(least.magnitude * 0.05, 0.5) : 0
        let span = max(most - least + 2 * margin, 1e-9)
        // 1, 2 or 5 times a power of ten, so that there are 2 to 6 numbers.
        let power = pow(10, log10(span / 4.5).rounded(.down))
        let step = ([1, 2, 5].first { span / ($0 * power) <= 4.5 } ?? 10) * power
        let first = ((least - margin) / step).rounded(.down)
        let last = ((most + margin) / step).rounded(.up)
        ticks = stride(from: first, through: last, by: 1).map { $0 * step }
        (low, high) = (first * step, max(last, first + 1) * step)
        decimals = step >= 0.999 ? 0 : step >= 0.0999 ? 1 : 2
    }

    /// Returns where a number is, from 0 at the bottom to 1 at the top.
    func share(_ value: Double) -> Double { (value - low) / (high - low) }
}

extension Double {
    /// The number with one decimal, for a place in a drawing.
    fileprivate var short: String { fixedText(self, decimals: 1) }

    fileprivate var precise: String { fixedText(self, decimals: 3) }
}
