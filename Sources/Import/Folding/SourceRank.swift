/// The sort of a source, which helps to decide whose records count where several have some.
enum SourceSort: Int, Comparable {
    /// Worn, so it knows most.
    case watch
    /// Carried, and often left on a table.
    case phone
    /// Scales, apps, and what a person typed.
    case other

    static func < (a: SourceSort, b: SourceSort) -> Bool { a.rawValue < b.rawValue }

    /// Returns what a record's `device` shows its source to be; `nil` if it shows nothing.
    ///
    /// The text is HealthKit's own: `<<HKDevice: 0x28>, name:Apple Watch, manufacturer:Apple Inc.,
    /// model:Watch, hardware:Watch3,4, software:8.7>`. Only name, model and hardware count, because
    /// the manufacturer of many straps also has `Watch` in its name.
    static func of(device: String) -> SourceSort? {
        var found: SourceSort?
        for part in device.lowercased().split(separator: ", ") {
            for key in ["name:", "model:", "hardware:"] where part.hasPrefix(key) {
                if let sort = named(String(part.dropFirst(key.count))) {
                    found = min(found ?? sort, sort)
                }
            }
        }
        return found
    }

    /// Returns what a source's own name shows it to be; the last resort.
    static func of(name: String) -> SourceSort { named(SourceRank.simplified(name)) ?? .other }

    private static func named(_ text: String) -> SourceSort? {
        if text.contains("watch") { return .watch }
        return text.contains("phone") ? .phone : nil
    }
}

/// The rank of a source among others; the records of the smaller one count.
///
/// This is a total order. It follows from what the sources are, not from the order of their
/// records: first the sources that the user prefers, then watches, then phones, then all others,
/// and by name among equals. Totals that an app has made rank behind the records of all other
/// sources, unless the user prefers them.
struct SourceRank: Comparable {
    private let preference: Int
    private let isTotal: Bool
    private let sort: SourceSort
    private let simplified: String
    private let name: String

    init(_ source: DaySource) {
        preference = source.preference ?? .max
        isTotal = source.isTotal
        sort = source.sort
        simplified = SourceRank.simplified(source.name)
        name = source.name
    }

    static func < (a: SourceRank, b: SourceRank) -> Bool {
        (a.preference, a.isTotal ? 1 : 0, a.sort.rawValue, a.simplified, a.name)
            < (b.preference, b.isTotal ? 1 : 0, b.sort.rawValue, b.simplified, b.name)
    }

    /// Returns a name without differences that people do not see: a no-break space (`U+00A0`,
    /// `U+202F`) becomes a space, a curly apostrophe (`U+2018`, `U+2019`) a straight one, and upper
    /// case lower case.
    static func simplified(_ name: String) -> String {
        var plain = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\u{A0}", "\u{202F}": plain.append(" ")
            case "\u{2018}", "\u{2019}": plain.append("'")
            default: plain.append(scalar)
            }
        }
        return String(plain).lowercased()
    }

    /// Returns the position of each source in the ranking, by its index.
    static func order(of sources: [DaySource]) -> [Int] {
        let ranks = sources.map(SourceRank.init)
        var order = [Int](repeating: 0, count: ranks.count)
        let sorted = ranks.indices.sorted { (ranks[$0], $0) < (ranks[$1], $1) }
        for (place, index) in sorted.enumerated() { order[index] = place }
        return order
    }
}
