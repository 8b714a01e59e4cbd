/// A row of bars, one for each value.
struct Sparkline {
    private static let bars: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    /// Returns the bars of values, the lowest for the least value and the highest for the greatest
    /// one. Equal values have bars of middle height. A missing value is a space.
    ///
    /// - Parameter width: the number of columns; if there are more values, the last ones are shown.
    static func text(_ values: [Double?], width: Int = .max) -> String {
        let shown = values.suffix(width)
        let known = shown.compactMap { $0 }.filter(\.isFinite)
        guard let least = known.min(), let most = known.max() else { return "" }
        // Halved, because the whole span may exceed the range of a `Double`.
        let span = most / 2 - least / 2
        return String(
            shown.map { value -> Character in
                guard let value, value.isFinite else { return " " }
                guard span > 0 else { return bars[3] }
                return bars[min(7, Int((value / 2 - least / 2) / span * 8))]
            })
    }
}
