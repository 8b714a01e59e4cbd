import HealthModel

/// A quantity that days are made of, and how it is counted.
struct DayQuantity: Hashable, Sendable {
    /// The longest record: a leap year, in seconds.
    static let longest: Int64 = 366 * 86_400
    static let all = ActivityDay.kinds.indices.map(DayQuantity.init(place:))

    let kind: SampleKind
    /// Its index in `ActivityDay.kinds`.
    let place: Int
    /// The number of counted whole numbers in one of the kind's unit. They are hundredths of a
    /// step, millimetres, tenths of a calorie, milliseconds.
    let scale: Double

    /// `nil` for a kind that is not part of a day.
    init?(_ kind: SampleKind) {
        guard let place = ActivityDay.kinds.firstIndex(of: kind) else { return nil }
        self.init(place: place)
    }

    /// Whether the last record of a day counts instead of a sum.
    let hasNoSum: Bool
    /// Whether its value in a day is a whole number.
    let isCount: Bool

    private init(place: Int) {
        self.place = place
        kind = ActivityDay.kinds[place]
        let facts = kind.facts.day
        scale = facts?.scale ?? 1
        hasNoSum = facts?.hasNoSum ?? true
        isCount = facts?.isCount ?? false
    }
}

/// One record of a quantity, in seconds since 1970 and in the quantity's whole numbers.
struct DayPart: Hashable, Comparable, Sendable {
    var start: Int64
    /// At or after `start`; equal to it for an instant.
    var end: Int64
    var amount: Int64

    var isInstant: Bool { start == end }

    /// Orders by start, the longest first.
    static func < (a: DayPart, b: DayPart) -> Bool {
        a.start != b.start
            ? a.start < b.start : a.end != b.end ? a.end > b.end : a.amount > b.amount
    }

    /// Returns how much of the amount lies before an instant, in 2^-20 of a whole number.
    @inline(__always)
    func amount(before instant: Int64) -> Int64 {
        if instant >= end { return amount << 20 }
        if instant <= start { return 0 }
        let product = UInt64(amount << 20).multipliedFullWidth(by: UInt64(instant - start))
        return Int64(UInt64(end - start).dividingFullWidth(product).quotient)
    }
}
