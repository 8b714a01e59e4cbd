import HealthModel
public import HealthStore
public import ClarityScheduler
import JSON
import Platform

/// What a FHIR server gets of an archive, in parts that are compared and sent apart. Devices come
/// first, because Observations refer to them.
public struct FHIRContent {
    /// A part of the content: the records of a type and month, the days of a month, or the devices.
    public struct Part: Sendable {
        /// Unique among the parts of an archive, and always the same, such as
        /// `HKQuantityTypeIdentifierHeartRate 2026-01`.
        public let name: String
        /// What it is about, for counts and the audit log, such as `HeartRate`.
        public let type: String
        /// The type of its resources: `Observation` or `Device`.
        public let resource: String
        /// Another number whenever something in the part may have changed. It is made of how often
        /// that was written, and of no value.
        public let digest: UInt64

        /// Whether its resources are records of the archive.
        public var isOfRecords: Bool { if case .month = content { true } else { false } }

        let content: Content

        /// The name of the type as its source has it.
        var typeName: String {
            if case .month(let month) = content { month.type } else { type }
        }

        /// The name of the file that an export writes it into.
        var fileName: String {
            resource == "Device"
                ? "Device.ndjson"
                : RecordObservations.fileName(of: RecordFile.name(of: typeName))
        }

        enum Content: Sendable {
            case devices
            case month(TypeMonth)
            /// The days of a month, counted from January 1970.
            case days(Int)
        }
    }

    /// The types that go only where somebody names them: a million points of routes, what a person
    /// is, and what a clinic has.
    private static let unasked: Set<String> = ["ClinicalRecord", "Me", "WorkoutRoutePoint"]

    private var recipient: Recipient
    private let grain: FHIRGrain
    private let types: [ArchivedType]
    private let zone: Zone
    /// The starts of the records that are wanted, in seconds since 1970.
    private let range: Range<Int64>

    private var store: HealthStore { recipient.store }

    /// - Parameters:
    ///   - names: the names of the types that somebody asked for, of which those that the archive
    ///     does not have are left out; none for all but a few.
    ///   - zone: the time zone of days; `nil` for the one that the account's days follow as far as
    ///     the store says.
    public init(
        of store: HealthStore, _ patient: FHIRPatient, _ grain: FHIRGrain, types names: [String],
        in zone: Zone? = nil
    ) throws(HealthStoreError) {
        let types = try store.archive.types().filter { type in
            names.isEmpty
                ? !FHIRContent.unasked.contains(type.name) : names.contains(where: type.isMeant)
        }
        try self.init(Recipient(store: store, patient: patient), grain, types, in: zone)
    }

    init(
        _ recipient: Recipient, _ grain: FHIRGrain, _ types: [ArchivedType], in zone: Zone? = nil,
        _ range: Range<Int64> = .min..<(.max)
    ) throws(HealthStoreError) {
        (self.recipient, self.grain, self.range) = (recipient, grain, range)
        self.types = types.filter { !KeptFile.isOfClinic($0.name) }
        if let zone {
            self.zone = zone
        } else {
            self.zone = try SourceZones(environment: [:]).dayZone(
                of: recipient.store, named: nil)
        }
    }

    /// Returns how many records the archive has, and how many of them are of types that are not sent.
    public func records() throws(HealthStoreError) -> (all: Int64, others: Int64) {
        let sent = Set(types.map(\.name))
        return try store.archive.stocks(in: zone).stocks.reduce(into: (0, 0)) { counts, stock in
            counts.all += stock.records
            if !sent.contains(stock.type.name) { counts.others += stock.records }
        }
    }

    /// Whether Observations refer to their Devices, and parts bring these.
    public var refersToDevices: Bool {
        get { recipient.hasDevices }
        set { recipient.hasDevices = newValue }
    }

    /// The name of the part with the Devices.
    public static let devices = "devices"

    // MARK: Parts

    /// Returns the parts in the order in which they are sent. No record is opened for it.
    public func parts() throws(HealthStoreError) -> [Part] {
        let generations = try store.archive.generations()
        let months = types.flatMap(\.typeMonths)
        guard !months.isEmpty else { return [] }
        let devices = Part(
            name: FHIRContent.devices, type: FHIRContent.devices, resource: "Device",
            digest: digest(of: months, generations), content: .devices)
        let isOfDay = { grain == .days && FHIRDays.cover($0) }
        let single = types.filter { !isOfDay($0) }.flatMap { type in
            type.typeMonths.map { month in
                let generation = generations[month] ?? 0
                return Part(
                    name: month.name, type: type.shortName, resource: "Observation",
                    digest: grain == .hourly ? generation | 1 << 63 : generation,
                    content: .month(month))
            }
        }
        return try [devices] + dayParts(types.filter(isOfDay), generations) + single
    }

    /// Returns what takes the place of a resource of a part that is no longer true: it keeps no
    /// value, and says what it was about and of whom.
    public func withdrawal(of id: FHIRID, from part: Part) -> [UInt8] {
        let resource: JSON = [
            "resourceType": .string(part.resource), "id": .string(id.text),
            "status": "entered-in-error", "code": ["text": .string(part.type)],
            "subject": recipient.patient.subject,
        ]
        return resource.bytes
    }

    private func dayParts(
        _ types: [ArchivedType], _ generations: [TypeMonth: UInt64]
    ) throws(HealthStoreError) -> [Part] {
        guard !types.isEmpty else { return [] }
        let groups: [MetricGroup] =
            types.contains { $0.name == FHIRDays.sleep } ? [.activity, .sleep] : [.activity]
        var revisions: [[Int: UInt64]] = []
        for group in groups { revisions.append(try store.cache.revisions(of: group)) }
        // A day of the zone may begin in the month of UTC before or after, and a night ends in one.
        let months = Set(
            (types.flatMap(\.months) + revisions.flatMap(\.keys)).flatMap { ($0 - 1)...($0 + 1) })
        return months.sorted().map { month in
            let near = (month - 1)...(month + 1)
            let ofTypes = types.flatMap { type in near.map { TypeMonth(type: type.name, month: $0) }
            }
            let others = revisions.flatMap { ofGroup in near.map { ofGroup[$0] ?? 0 } }
            let name = TypeMonth(type: "days", month: month).name
            return Part(
                name: name, type: "days", resource: "Observation",
                digest: digest(of: ofTypes, generations, others), content: .days(month))
        }
    }

    private func digest(
        of months: [TypeMonth], _ generations: [TypeMonth: UInt64], _ others: [UInt64] = []
    ) -> UInt64 {
        let counts = months.map { "\($0.name) \(generations[$0] ?? 0)" } + others.map { "\($0)" }
        return Publications.digest(
            Array("\(grain.rawValue) \(zone.identifier) \(counts.joined(separator: ","))".utf8))
    }

    // MARK: Portions

    /// Opens a part.
    public func portion(of part: Part) throws(HealthStoreError) -> Portion {
        switch part.content {
        case .devices:
            let found = try store.archive.origins(of: types)
            return Portion(
                FHIRDevices(recipient).resources(of: found.origins), records: 0,
                damage: found.damaged.first?.damage, nil)
        case .month(let month):
            let found = try store.archive.records(of: month)
            return Portion(
                found.sound, of: month.type, grain, range, recipient,
                damage: found.isDamaged ? month.damage : nil)
        case .days(let month):
            var days = FHIRDays(
                of: types.filter(FHIRDays.cover), in: zone, range, recipient)
            try days.add(month: month)
            return Portion(
                days.resources, records: days.records, damage: days.damage, recipient.versions)
        }
    }

    /// The resources of a part.
    public struct Portion {
        /// A sentence, if something stored could not be read, which is left out.
        public let damage: String?
        /// How many records of the archive it covers.
        public let records: Int
        /// The Devices that the resources refer to.
        public private(set) var devices: [(id: FHIRID, bytes: [UInt8])] = []
        /// The id of each resource and the version of its content: 0 where the id already tells the
        /// content.
        public private(set) var resources: [(id: FHIRID, version: UInt64)] = []

        private let content: Content
        private let archived: [ArchivedRecord]
        private var lines: RecordObservations?

        private enum Content {
            case made([[UInt8]])
            /// Each record by itself: their indices, or `nil` for all.
            case records([Int]?)
            case hours(HourlyReadings)
        }

        fileprivate init(
            _ made: [(id: FHIRID, bytes: [UInt8])], records: Int, damage: String?,
            _ versions: KeyedHash?
        ) {
            (self.damage, self.records) = (damage, records)
            content = .made(made.map(\.bytes))
            archived = []
            resources = made.map { ($0.id, versions?.digest(of: $0.bytes) ?? 0) }
        }

        fileprivate init(
            _ segment: Segment, of type: String, _ grain: FHIRGrain, _ range: Range<Int64>,
            _ recipient: Recipient, damage: String?
        ) {
            self.damage = damage
            archived = segment.records
            if recipient.hasDevices {
                let origins = Set(segment.records.lazy.map(\.origin)).map { segment.texts[$0] }
                devices = FHIRDevices(recipient).resources(of: Set(origins))
            }
            var lines = RecordObservations(segment, type: type, recipient)
            var ids = RecordIDs(segment, of: type, in: recipient.store)
            let isWhole =
                segment.records.first.map { range.contains($0.start) } ?? true
                && segment.records.last.map { range.contains($0.start) } ?? true
            let wanted =
                isWhole
                ? nil : segment.records.indices.filter { range.contains(segment.records[$0].start) }
            records = wanted?.count ?? segment.records.count
            guard grain == .hourly, HourlyReadings.areTogether(of: type) else {
                content = .records(wanted)
                self.lines = lines
                let all = segment.records.map { (id: ids.next($0), version: UInt64(0)) }
                resources = wanted?.map { all[$0] } ?? all
                return
            }
            let ofRecords = segment.records.map { ids.next($0) }
            let hours = HourlyReadings(segment, range)
            let hash = KeyedHash(of: "FHIR hours of \(type)", in: recipient.store)
            let versions = recipient.versions
            var bytes: [UInt8] = []
            for piece in hours.pieces {
                switch piece {
                case .record(let index): resources.append((ofRecords[index], 0))
                case .readings(let range):
                    let readings = hours.readings[range]
                    let id = hash.id(ofHourOf: readings, in: segment)
                    bytes.removeAll(keepingCapacity: true)
                    lines.append(readings, under: id, to: &bytes)
                    resources.append((id, versions.digest(of: bytes)))
                }
            }
            content = .hours(hours)
            self.lines = lines
        }

        /// Returns the resource under the id with this index, without a line end.
        public mutating func resource(at index: Int) -> [UInt8] {
            var bytes: [UInt8] = []
            // Most resources have fewer.
            bytes.reserveCapacity(1024)
            append(index, to: &bytes)
            return bytes
        }

        /// Appends the same.
        mutating func append(_ index: Int, to bytes: inout [UInt8]) {
            let id = resources[index].id
            switch content {
            case .made(let made): bytes += made[index]
            case .records(let wanted):
                lines?.append(archived[wanted?[index] ?? index], under: id, to: &bytes)
                bytes.removeLast()
            case .hours(let hours):
                switch hours.pieces[index] {
                case .record(let record):
                    lines?.append(archived[record], under: id, to: &bytes)
                    bytes.removeLast()
                case .readings(let range):
                    lines?.append(hours.readings[range], under: id, to: &bytes)
                }
            }
        }
    }
}

extension Recipient {
    /// Makes the versions of contents.
    fileprivate var versions: KeyedHash { KeyedHash(of: "FHIR versions", in: store) }
}

extension KeyedHash {
    /// Returns the id of the readings of an hour, which the next reading of it has too.
    fileprivate func id(ofHourOf readings: ArraySlice<Int>, in segment: Segment) -> FHIRID {
        guard let first = readings.first else { return id(of: []) }
        let record = segment.records[first]
        return id(
            of: segment.texts[record.origin],
            record.metadata.map { segment.texts[$0] + [1] } ?? [],
            at: HourlyReadings.hour(of: record))
    }
}
