/// The growth of one quantity with another, by the line of best fit (least squares).
struct Trend {
    /// The growth per unit of the other quantity; 0 for fewer than two points.
    let slope: Double
    /// The mean of the other quantity.
    let middle: Double
    let least: Double
    let most: Double

    init(_ points: [(x: Double, y: Double)]) {
        let count = Double(points.count)
        let meanX = points.reduce(0) { $0 + $1.x } / max(count, 1)
        let meanY = points.reduce(0) { $0 + $1.y } / max(count, 1)
        let spread = points.reduce(0) { $0 + ($1.x - meanX) * ($1.x - meanX) }
        let common = points.reduce(0) { $0 + ($1.x - meanX) * ($1.y - meanY) }
        middle = meanX
        slope = spread > 0 ? common / spread : 0
        least = points.map(\.y).min() ?? 0
        most = points.map(\.y).max() ?? 0
    }

    /// Fits a quantity over the last four fifths of the samples. The first fifth is warm-up.
    init(_ samples: [(runs: Int, vitals: Vitals)], _ quantity: (Vitals) -> Int) {
        self.init(Array(Trend.points(samples, quantity).dropFirst(samples.count / 5)))
    }

    /// Returns the growth that has no end: the smaller of the slopes over the last four fifths and
    /// over the later half.
    ///
    /// A leak grows in both. A quantity that fills up, such as a pool of memory, grows only at
    /// first.
    static func lasting(_ points: [(x: Double, y: Double)]) -> Double {
        let shares = [points.count / 5, points.count / 2]
        return shares.map { Trend(Array(points.dropFirst($0))).slope }.min() ?? 0
    }

    /// Returns the growth of what stays in use, although as much again is in use at busy moments:
    /// compares the least value of the last two fifths with that of the two fifths before. Returns
    /// 0 for fewer than five points.
    static func kept(_ points: [(x: Double, y: Double)]) -> Double {
        let length = points.count * 2 / 5
        guard length > 1 else { return 0 }
        let later = Trend(Array(points.suffix(length)))
        let earlier = Trend(Array(points.dropLast(length).suffix(length)))
        return (later.least - earlier.least) / (later.middle - earlier.middle)
    }

    /// Returns a quantity of the samples by the number of runs.
    static func points(
        _ samples: [(runs: Int, vitals: Vitals)], _ quantity: (Vitals) -> Int
    ) -> [(x: Double, y: Double)] {
        samples.map { (Double($0.runs), Double(quantity($0.vitals))) }
    }
}
