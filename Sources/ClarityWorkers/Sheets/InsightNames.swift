/// What is written for an insight's id in a list: as much of it as tells it from all others.
struct InsightNames {
    /// The fewest characters: fewer are hard to tell apart for a person.
    static let least = 8

    private var names: [String: String] = [:]

    /// The names of `ids`, among which each is the only one that begins so, or is the id itself.
    init(_ ids: [String]) {
        let sorted = ids.map { Array($0.unicodeScalars) }.sorted {
            $0.lexicographicallyPrecedes($1)
        }
        for (index, id) in sorted.enumerated() {
            var common = 0
            // What has the most in common with it stands beside it.
            if index > 0 { common = InsightNames.common(id, sorted[index - 1]) }
            if index + 1 < sorted.count {
                common = max(common, InsightNames.common(id, sorted[index + 1]))
            }
            let name = id.prefix(max(InsightNames.least, common + 1))
            names[InsightNames.text(id[...])] = InsightNames.text(name)
        }
    }

    /// The name of an id; of one that is not known the id itself.
    subscript(id: String) -> String { names[id] ?? id }

    private static func common(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
        zip(a, b).prefix { $0 == $1 }.count
    }

    private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }
}
