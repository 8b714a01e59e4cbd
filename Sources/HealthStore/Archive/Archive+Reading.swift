public import ClarityScheduler
import Database

/// The months of a type that the archive has.
public struct ArchivedType: Hashable, Sendable {
    /// The type as HealthKit names it; `(other types)` for records whose type is no plain name.
    public let name: String
    /// The months, counted from January 1970, ascending.
    public let months: [Int]
    package var typeMonths: [TypeMonth] { months.map { TypeMonth(type: name, month: $0) } }

    /// Returns the type with one of its months.
    package func only(_ month: Int) -> ArchivedType { ArchivedType(name: name, months: [month]) }

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

    /// Returns the short name in the form in which that of other sources is the same: `heart_rate`
    /// for `HeartRate`.
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

    /// Returns the newest generation of each month: it grows whenever a month's records change.
    public func generations() throws(HealthStoreError) -> [TypeMonth: UInt64] {
        try store.access { connection in
            var generations: [TypeMonth: UInt64] = [:]
            try connection.forEach(
                "SELECT type, month, max(generation) FROM segments GROUP BY type, month"
            ) {
                generations[TypeMonth(type: $0.text(0), month: Int($0.integer(1)))] =
                    UInt64($0.integer(2))
            }
            return generations
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
        for part in try encrypted(month, connection) {
            do {
                sound.add(try opened(part, month).segment(decompressor))
            } catch is EncryptionError {
                isDamaged = true
            }
        }
        sound.sort()
        return (sound, isDamaged)
    }

    /// Returns the texts of the origins of all records of types, and the months of which some are
    /// damaged. The records stay compressed.
    package func origins(
        of types: [ArchivedType]
    ) throws(HealthStoreError) -> (origins: Set<[UInt8]>, damaged: [TypeMonth]) {
        let decompressor = try HealthStore.describing(store.path) { try Decompressor() }
        var origins: Set<[UInt8]> = []
        var damaged: [TypeMonth] = []
        for month in types.flatMap(\.typeMonths) {
            try store.access { connection in
                for part in try encrypted(month, connection) {
                    do {
                        origins.formUnion(try opened(part, month).origins(decompressor))
                    } catch is EncryptionError {
                        if damaged.last != month { damaged.append(month) }
                    }
                }
            }
        }
        return (origins, damaged)
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
            for month in type.typeMonths {
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

// The sums of days beside the segments. They follow from the segments and can always be made anew;
// those that do not belong to the newest segment, or to the wanted time zone, do not count.

extension Archive {
    /// A type with all its records.
    package struct Stock: Hashable, Sendable {
        package var type: ArchivedType
        package var records: Int64 = 0
        /// The first and the last start, in seconds since 1970.
        package var first = Int64.max
        package var last = Int64.min
        package var units: [String] = []
    }

    /// Returns what there is of each type, and the months with a damaged segment.
    package func stocks(
        in zone: Zone
    ) throws(HealthStoreError) -> (stocks: [Stock], damaged: [TypeMonth]) {
        var damaged: [TypeMonth] = []
        var stocks: [Stock] = []
        for type in try types() {
            var stock = Stock(type: type)
            let found = try sums(of: type, in: zone)
            damaged += found.damaged
            for month in found.months where month.records > 0 {
                stock.records += month.records
                stock.first = min(stock.first, month.first)
                stock.last = max(stock.last, month.last)
                for unit in month.days.compactMap(\.unit) where !stock.units.contains(unit) {
                    stock.units.append(unit)
                }
            }
            if stock.records > 0 { stocks.append(stock) }
        }
        return (stocks, damaged)
    }

    /// Returns the days of a type, in order, each once for every unit or word.
    ///
    /// - Parameter span: the days, counted from 1970-01-01.
    package func days(
        of type: ArchivedType, in span: ClosedRange<Int>, _ zone: Zone
    ) throws(HealthStoreError) -> (days: [DaySum], damaged: [TypeMonth]) {
        // No zone is more than a day from UTC, in which months are counted.
        let months =
            TypeMonth.month(
                of: Int64(span.lowerBound - 1) * 86_400)...TypeMonth.month(
                of: Int64(span.upperBound + 2) * 86_400)
        let found = try sums(of: type, in: zone) { months.contains($0) }
        struct Part: Hashable {
            var day: Int
            var unit, word: String?
        }
        var days: [DaySum] = []
        // Parts of a day stand in two months at most.
        var places: [Part: Int] = [:]
        for day in found.months.flatMap(\.days) where span.contains(day.day) {
            let part = Part(day: day.day, unit: day.unit, word: day.word)
            if let place = places[part] {
                days[place].add(day)
            } else {
                places[part] = days.count
                days.append(day)
            }
        }
        return (days, found.damaged)
    }

    private func sums(
        of type: ArchivedType, in zone: Zone, where isWanted: (Int) -> Bool = { _ in true }
    ) throws(HealthStoreError) -> (months: [MonthSums], damaged: [TypeMonth]) {
        let tools = try HealthStore.describing(store.path) { try Decompressor() }
        let stored = try store.access { connection in
            var stored: [Int: MonthSums] = [:]
            try connection.forEach(
                """
                SELECT d.month, d.sealed, max(s.generation) FROM segment_days d
                JOIN segments s ON s.type = d.type AND s.month = d.month
                WHERE d.type = ? GROUP BY d.month, d.sealed
                """, [.text(type.name)]
            ) { row in
                let month = Int(row.integer(0))
                guard isWanted(month) else { return }
                let key = TypeMonth(type: type.name, month: month)
                guard let plain = store.cipher.opened(row.blob(1), for: sumsIdentity(key)),
                    let sums = MonthSums(plain, tools), sums.generation == row.integer(2),
                    sums.zone == zone.identifier
                else { return }
                stored[month] = sums
            }
            return stored
        }
        var months: [MonthSums] = []
        var damaged: [TypeMonth] = []
        for month in type.months where isWanted(month) {
            if let known = stored[month] {
                months.append(known)
                continue
            }
            let key = TypeMonth(type: type.name, month: month)
            let found = try records(of: key)
            if found.isDamaged { damaged.append(key) }
            months.append(MonthSums(found.sound, generation: 0, zone: zone))
        }
        return (months, damaged)
    }

    /// Writes the sums of a month.
    ///
    /// - Parameter all: every record of the month, in the order of time.
    func writeSums(
        of all: Segment, _ month: TypeMonth, generation: Int64, _ zone: Zone,
        _ compressor: Compressor, _ connection: Connection
    ) throws {
        let sums = MonthSums(all, generation: generation, zone: zone)
        let encrypted = store.cipher.encrypt(sums.encoded(compressor), for: sumsIdentity(month))
        try connection.run(
            """
            INSERT INTO segment_days (type, month, sealed) VALUES (?1, ?2, ?3)
            ON CONFLICT (type, month) DO UPDATE SET sealed = ?3
            """, .text(month.type), .integer(Int64(month.month)), .blob(encrypted))
    }

    /// What `repair` did.
    public struct Repair: Hashable, Sendable {
        /// The months whose days were added up anew.
        public var sums: Int64 = 0
        /// The months with damaged records, which the sources are compared with once more.
        public var reread: Int64 = 0
    }

    /// Makes the sums of days anew where they are missing, damaged or wrong, or follow another time
    /// zone. Forgets what the sources had if records are damaged, so that the next reading stores
    /// again what they still have.
    public func repair(in zone: Zone) throws(HealthStoreError) -> Repair {
        let tools = try HealthStore.describing(store.path) {
            try (Compressor(level: 3), Decompressor())
        }
        var repair = Repair()
        for type in try types() {
            for month in type.typeMonths {
                // In one transaction, so that an import meanwhile is not left out of the sums.
                try store.change { connection in
                    let found = try records(of: month, tools.1, connection)
                    guard !found.isDamaged else { return repair.reread += 1 }
                    let newest = try encrypted(month, connection).last?.generation ?? 0
                    let stored = try storedSums(month, tools.1, connection)
                    let right = MonthSums(found.sound, generation: newest, zone: zone)
                    let isRight =
                        stored?.zone == right.zone && stored?.generation == newest
                        && stored?.agrees(with: right) == true
                    if isRight { return }
                    try writeSums(
                        of: found.sound, month, generation: newest, zone, tools.0, connection)
                    repair.sums += 1
                }
            }
        }
        if repair.reread > 0 { try store.change { try forgetReadings($0) } }
        return repair
    }

    /// Whether the sums of a month contradict its records. Sums that do not count contradict
    /// nothing.
    func areSumsWrong(
        _ month: TypeMonth, _ all: Segment, _ zone: Zone, _ decompressor: Decompressor,
        _ connection: Connection
    ) throws -> Bool {
        guard let stored = try storedSums(month, decompressor, connection) else {
            // A row that does not open is damaged.
            return try connection.first(
                "SELECT 1 FROM segment_days WHERE type = ? AND month = ?", .text(month.type),
                .integer(Int64(month.month))
            ) { _ in true } ?? false
        }
        let newest = try encrypted(month, connection).last?.generation
        guard stored.zone == zone.identifier, stored.generation == newest else { return false }
        return !stored.agrees(with: MonthSums(all, generation: stored.generation, zone: zone))
    }

    private func storedSums(
        _ month: TypeMonth, _ decompressor: Decompressor, _ connection: Connection
    ) throws -> MonthSums? {
        let encrypted = try connection.first(
            "SELECT sealed FROM segment_days WHERE type = ? AND month = ?", .text(month.type),
            .integer(Int64(month.month))
        ) { $0.blob(0) }
        return encrypted.flatMap { store.cipher.opened($0, for: sumsIdentity(month)) }
            .flatMap { MonthSums($0, decompressor) }
    }

    private func sumsIdentity(_ month: TypeMonth) -> RowIdentity {
        RowIdentity("segment_days", label: month.type, month.type, Int64(month.month))
    }
}

/// The types of records that are whole files, and the names of what their metadata has.
package enum KeptFile {
    /// An electrocardiogram with its curve.
    package static let electrocardiogram = "HKDataTypeIdentifierElectrocardiogram"
    /// The voltages of an electrocardiogram: numbers with blanks between them.
    package static let curve = "curve"
    /// How many voltages there are in a second, as the phone wrote it: `512.411 hertz`.
    package static let rate = "Sample Rate"

    /// A FHIR resource that a clinic has sent.
    package static let clinicalResource = "ClinicalRecordFile"
    /// The CDA document of an export.
    package static let clinicalDocument = "ClinicalDocument"
    /// The text of either, as it came.
    package static let content = "content"

    /// Whether records of a type are what a clinic has, which goes out as it came.
    package static func isOfClinic(_ type: String) -> Bool {
        [clinicalResource, clinicalDocument].contains(type)
    }

    /// Returns the number at the beginning of a text, with a decimal point or comma.
    package static func leadingNumber(_ text: String) -> Double? {
        Double(
            text.replacing(",", with: ".").prefix { ("0"..."9").contains($0) || $0 == "." })
    }
}
