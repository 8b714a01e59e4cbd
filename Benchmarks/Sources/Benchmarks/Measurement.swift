/// What was measured of one quantity, several times.
struct Measurement {
    private let sorted: [Double]

    /// Takes at least one sample.
    init(_ samples: [Double]) {
        precondition(!samples.isEmpty, "a measurement has samples, got none")
        sorted = samples.sorted()
    }

    var count: Int { sorted.count }
    var median: Double { quantile(0.5) }
    var least: Double { sorted[0] }
    var most: Double { sorted[sorted.count - 1] }

    /// The least sample that `share` (0 to 1) of all do not pass.
    func quantile(_ share: Double) -> Double {
        let rank = Int((share * Double(sorted.count)).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }

    /// The median with the quartiles: `2.41 ms (2.30..2.62)`.
    func text(_ unit: String) -> String {
        "\(decimal(median)) \(unit) (\(decimal(quantile(0.25)))..\(decimal(quantile(0.75))))"
    }

    /// The median with the least and the most, for few samples.
    func fullText(_ unit: String) -> String {
        "\(decimal(median)) \(unit) (\(decimal(least))..\(decimal(most)))"
    }
}

/// A number with three digits that matter, and all those before its point: `0.012`, `2.41`, `1204`.
func decimal(_ value: Double) -> String {
    let size = abs(value)
    let digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3
    let scale = [1, 10, 100, 1000][digits]
    let scaled = Int((size * Double(scale)).rounded())
    let sign = value < 0 && scaled > 0 ? "-" : ""
    guard digits > 0 else { return "\(sign)\(scaled)" }
    let fraction = String(scaled % scale)
    let zeros = String(repeating: "0", count: digits - fraction.count)
    return "\(sign)\(scaled / scale).\(zeros)\(fraction)"
}
