public import ClarityScheduler
import Database

/// The months of a type that the archive has.
public struct ArchivedType: Hashable, Sendable {
    /// The type as HealthKit names it; `(other types)` for records whose type is no plain name.
    public let name: String
    /// The months, counted from January 1970, ascending.
    public let months: [Int]

    /// Whether a person means this type by a name: its own, or its short one. `HeartRate` means the
    /// `heart_rate` of other sources too.
    public func isMeant(by name: String) -> Bool {
        self.name == name || ArchivedType.folded(shortName) == ArchivedType.folded(name)
    }

    /// The name without what HealthKit puts in front of it: `HeartRate`.
    public var shortName: String { ArchivedType.shortName(of: name) }

    package static func shortName(of name: String) -> String {
        for prefix in [
            "HKQuantityTypeIdentifier", "HKCategoryTypeIdentifier", "HKCorrelationTypeIdentifier",
            "HKDataTypeIdentifier", "HKDataType",
        ] where name.hasPrefix(prefix) && name.count > prefix.count {
            return String(name.dropFirst(prefix.count))
        }
        return name
    }

    /// Returns the short name in the form in which that of other sources is the same: `heart_rate` for
    /// `HeartRate`.
    package static func folded(_ name: String) -> String {
        name.lowercased().replacing("_", with: "")
    }
}

extension Archive {
    /// Returns the types that there are, by name.
    public func types() throws(HealthStoreError) -> [ArchivedType] {
        try store.access { connection in
            var types: [String: [Int]] = [:]
            try connection.forEach("SELECT DISTINCT type, month FROM segments ORDER BY type, month")
            {
                types[$0.text(0), default: []].append(Int($0.integer(1)))
            }
            return types.map { ArchivedType(name: $0.key, months: $0.value) }
                .sorted { $0.name < $1.name }
        }
    }

    /// Returns the records of a month in the order of time, and whether some of them are damaged,
    /// which are left out.
    public func records(
        of month: TypeMonth
    ) throws(HealthStoreError) -> (sound: Segment, isDamaged: Bool) {
        try store.access { try records(of: month, Decompressor(), $0) }
    }

    func records(
        of month: TypeMonth, _ decompressor: Decompressor, _ connection: Connection
    ) throws -> (sound: Segment, isDamaged: Bool) {
        var sound = Segment()
        var isDamaged = false
        for part in try sealed(month, connection) {
            do {
                let part = try opened(part, month).segment(decompressor)
                if sound.records.isEmpty {
                    sound = part
                } else {
                    sound.add(part.records, textsIn: part.texts)
                }
            } catch is SealingError {
                isDamaged = true
            }
        }
        sound.sort()
        return (sound, isDamaged)
    }

    /// Opens every segment and adds up its days anew. A month and its days are read in one
    /// snapshot, so that an import meanwhile does not make them disagree.
    ///
    /// - Parameter zone: the time zone of the days.
    /// - Returns: how many records are sound, and a sentence for each month with damaged ones or
    ///   wrong sums.
    public func prove(
        in zone: Zone
    ) throws(HealthStoreError) -> (records: Int64, damaged: [String]) {
        let decompressor = try HealthStore.describing(store.path) { try Decompressor() }
        var records: Int64 = 0
        var damaged: [String] = []
        for type in try types() {
            for number in type.months {
                let month = TypeMonth(type: type.name, month: number)
                try store.snapshot { connection in
                    let found = try self.records(of: month, decompressor, connection)
                    records += Int64(found.sound.records.count)
                    if found.isDamaged {
                        damaged.append(month.damage)
                    } else if try areSumsWrong(month, found.sound, zone, decompressor, connection) {
                        damaged.append(
                            "the days of \(month) are wrong; `audit --repair` adds them up anew")
                    }
                }
            }
        }
        return (records, damaged)
    }
}

extension TypeMonth: CustomStringConvertible {
    /// The sentence about a month with a damaged segment.
    package var damage: String { "records of \(self) are damaged" }

    /// Such as `HKQuantityTypeIdentifierHeartRate in 2024-05`.
    public var description: String { "\(type) in \(monthName)" }

    /// Such as `2024-05`.
    package var monthName: String {
        let year = 1970 + (month >= 0 ? month / 12 : (month - 11) / 12)
        let number = month - (year - 1970) * 12 + 1
        return "\(year)-\(number < 10 ? "0" : "")\(number)"
    }
}
