/// A row of bars, one a value.
struct Sparkline {
    private static let bars: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    /// The bars of values, the least as the lowest and the most as the highest; all of them in the
    /// middle where they are equal. A value that is missing is a space.
    ///
    /// - Parameter width: how many columns there are; of more values the last ones are shown.
    static func text(_ values: [Double?], width: Int = .max) -> String {
        let shown = values.suffix(width)
        let known = shown.compactMap { $0 }.filter(\.isFinite)
        guard let least = known.min(), let most = known.max() else { return "" }
        // In halves, since the whole may be more than a number can be.
        let span = most / 2 - least / 2
        return String(
            shown.map { value -> Character in
                guard let value, value.isFinite else { return " " }
                guard span > 0 else { return bars[3] }
                return bars[min(7, Int((value / 2 - least / 2) / span * 8))]
            })
    }
}
