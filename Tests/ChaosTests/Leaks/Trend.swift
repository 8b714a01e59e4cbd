/// How a quantity grows with another, by the line that fits best (least squares).
struct Trend {
    /// The growth for each unit of the other quantity; 0 for fewer than two points.
    let slope: Double
    let least: Double
    let most: Double

    init(_ points: [(x: Double, y: Double)]) {
        let count = Double(points.count)
        let meanX = points.reduce(0) { $0 + $1.x } / max(count, 1)
        let meanY = points.reduce(0) { $0 + $1.y } / max(count, 1)
        let spread = points.reduce(0) { $0 + ($1.x - meanX) * ($1.x - meanX) }
        let common = points.reduce(0) { $0 + ($1.x - meanX) * ($1.y - meanY) }
        slope = spread > 0 ? common / spread : 0
        least = points.map(\.y).min() ?? 0
        most = points.map(\.y).max() ?? 0
    }

    /// The trend of a quantity over the samples of the last four fifths: what comes before is warming
    /// up.
    init(_ samples: [(runs: Int, vitals: Vitals)], _ quantity: (Vitals) -> Int) {
        self.init(
            samples.dropFirst(samples.count / 5).map {
                (Double($0.runs), Double(quantity($0.vitals)))
            })
    }
}
