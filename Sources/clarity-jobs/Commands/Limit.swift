import Platform

extension Composition {
    /// Returns the value of `--limit`, which must be in `range`; 20 by default.
    func limit(_ range: ClosedRange<Int>) throws(CommandFailure) -> Int {
        guard let text = arguments["limit"] else { return 20 }
        guard let number = Int(text), range.contains(number) else {
            throw CommandFailure(
                .usage,
                "--limit is a number from \(range.lowerBound) to \(range.upperBound), "
                    + "got `\(text)`")
        }
        return number
    }
}
