import HealthModel
import JSON

/// A piece of HTML that is well-formed XML too.
///
/// Text becomes a part of it by `init(text:)` alone, which escapes it, so that no text from elsewhere
/// can become an element or an attribute.
struct HTML {
    /// The names come from the program; the values may come from elsewhere.
    typealias Attributes = KeyValuePairs<StaticString, String>

    let markup: String

    /// Creates the text of an element.
    init(text: String) { markup = HTML.escaped(text) }

    /// Creates an element.
    ///
    /// - Parameter name: the element and its classes, such as `p.muted`.
    init(_ name: StaticString, _ attributes: Attributes, _ content: [HTML]) {
        let parts = "\(name)".split(separator: ".")
        var markup = "<\(parts[0])"
        if parts.count > 1 { markup += " class=\"\(parts.dropFirst().joined(separator: " "))\"" }
        for (name, value) in attributes { markup += " \(name)=\"\(HTML.escaped(value))\"" }
        let isVoid = content.isEmpty && HTML.voids.contains(String(parts[0]))
        markup += isVoid ? "/>" : ">\(HTML.joined(content).markup)</\(parts[0])>"
        self.markup = markup
    }

    init(_ name: StaticString, _ content: [HTML]) { self.init(name, [:], content) }

    init(_ name: StaticString, _ content: HTML...) { self.init(name, [:], content) }

    init(_ name: StaticString, _ attributes: Attributes, _ content: HTML...) {
        self.init(name, attributes, content)
    }

    init(_ name: StaticString, _ attributes: Attributes = [:], text: String) {
        self.init(name, attributes, [HTML(text: text)])
    }

    /// Creates HTML of a text of the program's own, such as a style sheet.
    init(own text: StaticString) { markup = "\(text)" }

    private init(joining parts: [HTML]) { markup = parts.map(\.markup).joined() }

    static func joined(_ parts: [HTML]) -> HTML { HTML(joining: parts) }

    /// The elements without content and end.
    private static let voids: Set<String> = ["meta", "br", "line", "path", "rect", "circle"]

    /// Returns a text that is the same text in HTML, as content and as the value of an attribute.
    ///
    /// Characters that no document may contain, and those that change the direction of text, become
    /// U+FFFD; a text of more than 64 KiB is cut.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in DisplayText.harmless(text).unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            case _ where scalar.value & 0xFFFE == 0xFFFE: escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

// The parts of a report as one file: no script, and nothing from elsewhere.
extension HTML {
    /// Returns the whole document.
    static func document(_ title: String, _ parts: [HTML]) -> String {
        let head = HTML(
            "head", HTML("meta", ["charset": "utf-8"]),
            HTML("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"]),
            HTML(
                "meta",
                [
                    "http-equiv": "Content-Security-Policy",
                    "content": "default-src 'none'; style-src 'unsafe-inline'",
                ]),
            HTML("title", text: title), HTML("style", HTML.monthStyle))
        let body = HTML("body", HTML("main", parts))
        return "<!DOCTYPE html>\n\(HTML("html", ["lang": "en"], head, body).markup)\n"
    }

    static func facts(_ facts: [(String, String)]) -> HTML {
        HTML(
            "dl.facts",
            facts.map { HTML("div", HTML("dt", text: $0.0), HTML("dd", text: $0.1)) })
    }

    static var reportFooter: HTML {
        HTML("footer.muted.small", text: "Made by clarity-jobs from the data on one machine.")
    }

    static func section(_ id: String, _ title: String, _ content: [HTML]) -> [HTML] {
        [
            HTML(
                "section", ["aria-labelledby": id],
                [HTML("h2", ["id": id], text: title)] + content)
        ]
    }

    /// Returns a number under its name, with a note.
    static func figure(_ name: String, _ value: HTML, _ note: String) -> HTML {
        HTML(
            "li.card", HTML("h3", text: name), HTML("p.value", value),
            HTML("p.muted.small", text: note))
    }

    /// Returns a table whose columns of numbers have a `#` before their names.
    static func table(_ caption: String, _ heading: [String], _ rows: [[HTML]]) -> HTML {
        let isNumber = heading.map { $0.hasPrefix("#") }
        let head = heading.map { name -> HTML in
            name.hasPrefix("#")
                ? HTML("th.number", ["scope": "col"], text: String(name.dropFirst()))
                : HTML("th", ["scope": "col"], text: name)
        }
        let body = rows.map { row in
            HTML(
                "tr",
                row.enumerated().map { column, cell in
                    column == 0
                        ? HTML("th", ["scope": "row"], cell)
                        : isNumber[column] ? HTML("td.number", cell) : HTML("td", cell)
                })
        }
        // On a phone a wide one scrolls by itself, by keys too.
        return HTML(
            "div.scroll", ["tabindex": "0", "role": "region", "aria-label": caption],
            HTML(
                "table", ["aria-label": caption], HTML("thead", HTML("tr", head)),
                HTML("tbody", body)))
    }

    static func behind(_ caption: String, _ table: HTML) -> HTML {
        HTML("details", HTML("summary", text: caption), table)
    }
}

/// A report that is written as one file, to print or to send.
public protocol PrintedReport {
    /// The number of entries read, by kind, for the audit log.
    var counts: [String: Int64] { get }
    /// As of `HealthReport.damageLine`.
    var damageLine: String? { get }

    /// Returns the whole document.
    func html() -> String
}

extension PrintedReport {
    /// Writes the document into a new file that only its owner can read. It has its name when it is
    /// whole.
    ///
    /// - Parameter path: an absolute path, at which nothing may be.
    public func write(to path: String) throws(RecordExport.Fault) {
        try checkReportPath(path)
        let file = try RecordFile(path)
        try file.write(Array(html().utf8))
        try file.finish()
    }
}

/// - Throws: `RecordExport.Fault.exists` if a report cannot have this path.
public func checkReportPath(_ path: String) throws(RecordExport.Fault) {
    try RecordDraft.checkIsNew(path)
}

/// Writes numbers for people. The exact number is the value of a `data` element, as `--output json`
/// has it.
enum MonthNumbers {
    /// Returns a value with its unit.
    static func html(_ value: Double, of measure: Measure) -> HTML {
        html(value, unit: measure.unit, decimals: measure.decimals)
    }

    static func html(_ value: Double, unit: String, decimals: Int) -> HTML {
        let exact = roundedJSON(value).line
        let parts = parts(value, unit: unit, decimals: decimals)
        return HTML(
            "data", ["value": exact],
            parts.map { part in
                part.isUnit ? HTML("span.unit", text: part.text) : HTML(text: part.text)
            })
    }

    static func text(_ value: Double, unit: String, decimals: Int) -> String {
        parts(value, unit: unit, decimals: decimals).map(\.text).joined()
    }

    private static func parts(
        _ value: Double, unit: String, decimals: Int
    ) -> [(text: String, isUnit: Bool)] {
        // A backend may send any number; a larger one is no length of time.
        if unit == "min", (60..<1e9).contains(value.rounded()) {
            let minutes = Int(value.rounded())
            return [
                (grouped(Double(minutes / 60), decimals: 0), false), (" h ", true),
                ("\(minutes % 60)", false), (" min", true),
            ]
        }
        if unit == "share" { return [(grouped(value * 100, decimals: 0), false), (" %", true)] }
        let number = grouped(value, decimals: decimals)
        let unit = shown(unit)
        return unit.isEmpty ? [(number, false)] : [(number, false), (" \(unit)", true)]
    }

    /// Returns a unit as people write it.
    static func shown(_ unit: String) -> String {
        switch unit {
        case "count/min", "1/min": "/min"
        case "count": ""
        case "Cal": "kcal"
        case "degC": "°C"
        case "mL/(kg*min)": "ml/kg/min"
        // The points of a scale.
        case "1..5": "of 5"
        case "1..10": "of 10"
        default: unit
        }
    }

    /// Returns a number with a comma between groups of three digits.
    static func grouped(_ value: Double, decimals: Int) -> String {
        let text = fixedText(value, decimals: decimals)
        let sign = text.hasPrefix("-") ? "-" : ""
        let whole = text.dropFirst(sign.count).prefix { $0.isNumber }
        guard whole.count > 3, !text.contains("e") else { return text }
        var groups: [Substring] = []
        var rest = whole
        while !rest.isEmpty {
            groups.insert(rest.suffix(3), at: 0)
            rest = rest.dropLast(3)
        }
        return sign + groups.joined(separator: ",")
            + text.dropFirst(sign.count + whole.count)
    }

    /// Returns how a number differs from that of the month before, such as `+4 %`; `nil` if no share
    /// of it can be said.
    static func change(from before: Double, to now: Double) -> String? {
        let share = (now / before - 1) * 100
        guard before > 0, share.isFinite, share.magnitude < 10_000 else { return nil }
        let text = fixedText(share.magnitude, decimals: share.magnitude < 10 ? 1 : 0)
        if Double(text) == 0 { return "the same" }
        return "\(share < 0 ? "\u{2212}" : "+")\(text) %"
    }

    /// Returns a name without the capital of its first word, unless that is an abbreviation.
    static func withinSentence(_ name: String) -> String {
        let isAbbreviation = name.prefix(2).allSatisfy(\.isUppercase)
        return isAbbreviation ? name : name.prefix(1).lowercased() + name.dropFirst()
    }
}

/// Returns a count with a comma between groups of three digits: `600,240`.
public func grouped(_ count: Int64) -> String {
    MonthNumbers.grouped(Double(count), decimals: 0)
}
