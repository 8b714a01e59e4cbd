/// A metric of Prometheus with all of its samples.
struct MetricFamily: Hashable, Sendable {
    /// The types of the text format that are used here.
    enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    /// A number that is written without a loss.
    enum Value: Hashable, Sendable {
        case count(Int64)
        /// A span or an instant, which is written in seconds.
        case milliseconds(Int64)
    }

    struct Sample: Hashable, Sendable {
        /// What follows the family's name: nothing, or `_bucket`, `_sum` or `_count`.
        var suffix = ""
        var labels: [Label]
        var value: Value
    }

    struct Label: Hashable, Sendable {
        var name: String
        var value: String
    }

    let name: String
    let help: String
    let kind: Kind
    private(set) var samples: [Sample] = []

    /// Creates a family without samples, which is not written.
    ///
    /// - Parameter name: the name after `clarity_jobs_`.
    init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = "clarity_jobs_\(name)"
        self.help = help
        self.kind = kind
    }

    /// Adds a sample.
    mutating func add(_ value: Value, _ labels: [Label] = []) {
        samples.append(Sample(labels: labels, value: value))
    }

    /// Adds the buckets, the sum and the count of a histogram.
    ///
    /// - Parameters:
    ///   - bounds: the upper bounds of the buckets in milliseconds, ascending.
    ///   - counts: the number of values in each bucket, and last of those above every bound.
    mutating func add(
        bounds: [Int64], counts: [Int64], sumMilliseconds: Int64, _ labels: [Label]
    ) {
        let limits = bounds.map { Value.milliseconds($0).text } + ["+Inf"]
        var total: Int64 = 0
        for (limit, count) in zip(limits, counts) {
            total += count
            samples.append(
                Sample(
                    suffix: "_bucket", labels: labels + [Label(name: "le", value: limit)],
                    value: .count(total)))
        }
        samples.append(
            Sample(suffix: "_sum", labels: labels, value: .milliseconds(sumMilliseconds)))
        samples.append(Sample(suffix: "_count", labels: labels, value: .count(total)))
    }
}

extension MetricFamily.Value {
    /// The number as the text format has it.
    var text: String {
        switch self {
        case .count(let number): return "\(number)"
        case .milliseconds(let number):
            let (whole, rest) = number.magnitude.quotientAndRemainder(dividingBy: 1000)
            let digits = String("\(1000 + rest)".dropFirst())
            let fraction = rest == 0 ? "" : ".\(digits.trimmingZeros)"
            return "\(number < 0 ? "-" : "")\(whole)\(fraction)"
        }
    }
}

extension String {
    /// The text without the zeros at its end.
    fileprivate var trimmingZeros: Substring {
        self[..<(lastIndex { $0 != "0" }.map(index(after:)) ?? startIndex)]
    }
}

/// The text format of Prometheus, version 0.0.4
/// (<https://prometheus.io/docs/instrumenting/exposition_formats/>).
enum PrometheusText {
    /// The value of `Content-Type`.
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Returns the families that have samples as text.
    static func text(_ families: [MetricFamily]) -> String {
        var text = ""
        for family in families where !family.samples.isEmpty {
            text += "# HELP \(family.name) \(escaped(family.help, quotes: false))\n"
            text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
            for sample in family.samples {
                let labels = sample.labels.map {
                    "\($0.name)=\"\(escaped($0.value, quotes: true))\""
                }
                let list = labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}"
                text += "\(family.name)\(sample.suffix)\(list) \(sample.value.text)\n"
            }
        }
        return text
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        // By scalar: `\r\n` is one character.
        text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "\\": result += #"\\"#
            case "\n": result += #"\n"#
            case "\"" where quotes: result += #"\""#
            default: result.unicodeScalars.append(scalar)
            }
        }
    }
}
