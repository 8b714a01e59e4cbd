extension Duration {
    /// The duration in whole milliseconds, rounded towards zero; spans here are far too short to
    /// overflow.
    var wholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }

    /// Parses `250ms`, `30s`, `15m`, `6h` or `30d`, at most 3650 days; `nil` for anything else.
    init?(span text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let units: [Substring: Int64] = [
            "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000,
        ]
        guard let count = Int64(digits), let unit = units[text.dropFirst(digits.count)],
            count <= 3650 * 86_400_000 / unit
        else { return nil }
        self = .milliseconds(count * unit)
    }
}
