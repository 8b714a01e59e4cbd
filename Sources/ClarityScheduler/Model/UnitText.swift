extension Duration {
    /// The duration in whole milliseconds, rounded towards zero and clamped to 64 bits.
    public var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, isTooLarge) = seconds.multipliedReportingOverflow(by: 1000)
        let (sum, overflow) = scaled.addingReportingOverflow(
            attoseconds / 1_000_000_000_000_000)
        return isTooLarge || overflow ? (seconds < 0 ? .min : .max) : sum
    }

    /// Parses a span with its unit: `250ms`, `30s`, `15m`, `6h`, `90d`, `2w`, or several units in
    /// descending order, `1h30m`.
    ///
    /// Returns `nil` for a text without a unit, a fraction, a sign, a repeated unit, or a span of
    /// more than 100 years.
    public init?(text: String) {
        var total: Int64 = 0
        var lastUnit = Int64.max
        var digits = ""
        var unit = ""
        func add() -> Bool {
            guard let count = Int64(digits), let factor = Duration.unitMilliseconds[unit],
                factor < lastUnit
            else { return false }
            let (product, overflow) = count.multipliedReportingOverflow(by: factor)
            guard !overflow, product <= Duration.longestMilliseconds - total else { return false }
            total += product
            lastUnit = factor
            digits = ""
            unit = ""
            return true
        }
        for character in text {
            if character.isASCII, character.isNumber {
                if !unit.isEmpty { guard add() else { return nil } }
                digits.append(character)
            } else {
                unit.append(character)
            }
        }
        guard add() else { return nil }
        self = .milliseconds(total)
    }

    /// The span as people write it, in the fewest units that express it exactly: `1h 30m`, `250ms`,
    /// `0s`. A negative span starts with `-`.
    public var text: String {
        let whole = milliseconds
        var rest = whole.magnitude
        var parts: [String] = []
        for (name, size) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)]
            as [(String, UInt64)]
        where rest >= size {
            parts.append("\(rest / size)\(name)")
            rest %= size
        }
        if rest > 0 { parts.append("\(rest)ms") }
        if parts.isEmpty { return "0s" }
        return (whole < 0 ? "-" : "") + parts.joined(separator: " ")
    }

    private static var unitMilliseconds: [String: Int64] {
        [
            "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000,
        ]
    }

    private static var longestMilliseconds: Int64 { 100 * 366 * 86_400_000 }
}

/// Returns a size in the largest binary unit of which it has at least one, rounded down to a tenth:
/// `1.5 GiB`.
package func byteText(_ bytes: Int64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"]
    guard bytes >= 1024 else { return "\(bytes) bytes" }
    var size: Int64 = 1024
    var unit = 0
    while unit + 1 < units.count, bytes / size >= 1024 {
        size *= 1024
        unit += 1
    }
    let tenths = bytes / size * 10 + bytes % size * 10 / size
    return tenths % 10 == 0
        ? "\(tenths / 10) \(units[unit])" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
}
