/// Repeated measurements of one quantity.
struct Measurement {
    private let sorted: [Double]

    /// Takes the samples, at least one.
    init(_ samples: [Double]) {
        precondition(!samples.isEmpty, "a measurement has samples, got none")
        sorted = samples.sorted()
    }

    var count: Int { sorted.count }
    var median: Double { quantile(0.5) }
    var least: Double { sorted[0] }
    var most: Double { sorted[sorted.count - 1] }

    /// Returns the smallest sample that is not exceeded by `share` (0 to 1) of all samples.
    func quantile(_ share: Double) -> Double {
        let rank = Int((share * Double(sorted.count)).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }

    /// Returns the median with the quartiles, such as `2.41 ms (2.30..2.62)`.
    func text(_ unit: String) -> String {
        "\(decimal(median)) \(unit) (\(decimal(quantile(0.25)))..\(decimal(quantile(0.75))))"
    }

    /// Returns the median with the smallest and the largest sample, for few samples.
    func fullText(_ unit: String) -> String {
        "\(decimal(median)) \(unit) (\(decimal(least))..\(decimal(most)))"
    }
}

/// Formats a number with three significant digits, or three decimals below 1, and with all digits
/// before the point: `0.012`, `2.41`, `1204`.
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
