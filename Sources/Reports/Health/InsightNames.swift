/// Abbreviates insight ids for a list: each name is a prefix that distinguishes its id from all
/// others.
package struct InsightNames {
    /// The minimum length of a name: a person can hardly tell shorter ones apart.
    static let least = 8

    private var names: [String: String] = [:]

    /// Creates names for `ids`. Each name is a prefix that no other id has, or the whole id.
    package init(_ ids: [String]) {
        let sorted = ids.map { Array($0.unicodeScalars) }.sorted {
            $0.lexicographicallyPrecedes($1)
        }
        for (index, id) in sorted.enumerated() {
            var common = 0
            // The id with the longest common prefix is a neighbour in the sorted list.
            if index > 0 { common = InsightNames.common(id, sorted[index - 1]) }
            if index + 1 < sorted.count {
                common = max(common, InsightNames.common(id, sorted[index + 1]))
            }
            let name = id.prefix(max(InsightNames.least, common + 1))
            names[String(String.UnicodeScalarView(id))] = String(String.UnicodeScalarView(name))
        }
    }

    /// Returns the name of an id, or the id itself if it is unknown.
    subscript(id: String) -> String { names[id] ?? id }

    private static func common(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
        zip(a, b).prefix { $0 == $1 }.count
    }
}
