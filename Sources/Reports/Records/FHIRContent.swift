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

        enum Content: Sendable {
            case month(TypeMonth)
        }
    }

    /// The types that go only where somebody names them: a million points of routes, what a person
    /// is, and what a clinic has.
    private static let unasked: Set<String> = ["ClinicalRecord", "Me", "WorkoutRoutePoint"]

    private let store: HealthStore
    private let patient: FHIRPatient
    private let grain: FHIRGrain
    private let types: [ArchivedType]
    private let zone: Zone

    /// - Parameters:
    ///   - names: the names of the types that somebody asked for, of which those that the archive
    ///     does not have are left out; none for all but a few.
    ///   - zone: the time zone of days; `nil` for the one that the account's days follow as far as
    ///     the store says.
    public init(
        of store: HealthStore, _ patient: FHIRPatient, _ grain: FHIRGrain, types names: [String],
        in zone: Zone? = nil
    ) throws(HealthStoreError) {
        (self.store, self.patient, self.grain) = (store, patient, grain)
        if let zone {
            self.zone = zone
        } else {
            self.zone = try SourceZones(environment: [:]).dayZone(of: store, named: nil)
        }
        types = try store.archive.types().filter { type in
            guard ![KeptFile.clinicalResource, KeptFile.clinicalDocument].contains(type.name) else {
                return false
            }
            return names.isEmpty
                ? !FHIRContent.unasked.contains(type.name) : names.contains(where: type.isMeant)
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

    /// Returns the parts in the order in which they are sent. No record is opened for it.
    public func parts() throws(HealthStoreError) -> [Part] {
        let generations = try store.archive.generations()
        return types.flatMap { type in
            type.typeMonths.compactMap { month in
                generations[month].map { generation in
                    Part(
                        name: month.name, type: type.shortName, resource: "Observation",
                        digest: generation, content: .month(month))
                }
            }
        }
    }

    /// Returns what takes the place of a resource of a part that is no longer true: it keeps no
    /// value, and says what it was about and of whom.
    public func withdrawal(of id: FHIRID, from part: Part) -> [UInt8] {
        let resource: JSON = [
            "resourceType": .string(part.resource), "id": .string(id.text),
            "status": "entered-in-error", "code": ["text": .string(part.type)],
            "subject": FHIRPatient?.some(patient).subject,
        ]
        return resource.bytes
    }

    /// Opens a part.
    public func portion(of part: Part) throws(HealthStoreError) -> Portion {
        switch part.content {
        case .month(let month):
            let found = try store.archive.records(of: month)
            return Portion(
                found.sound, of: month.type, Recipient(store: store, patient: patient),
                damage: found.isDamaged ? month.damage : nil)
        }
    }

    /// The resources of a part.
    public struct Portion {
        /// A sentence, if something stored could not be read, which is left out.
        public let damage: String?
        /// How many records of the archive it covers.
        public let records: Int
        /// The id of each resource and the version of its content: 0 where the id already tells the
        /// content.
        public private(set) var resources: [(id: FHIRID, version: UInt64)]

        private let segment: Segment
        private var lines: RecordObservations

        fileprivate init(
            _ segment: Segment, of type: String, _ recipient: Recipient, damage: String?
        ) {
            (self.segment, self.damage, records) = (segment, damage, segment.records.count)
            lines = RecordObservations(segment, type: type, recipient)
            var ids = RecordIDs(segment, of: type, in: recipient.store)
            resources = segment.records.map { (ids.next($0), 0) }
        }

        /// Returns the resource under the id with this index, without a line end.
        public mutating func resource(at index: Int) -> [UInt8] {
            var bytes: [UInt8] = []
            lines.append(segment.records[index], under: resources[index].id, to: &bytes)
            bytes.removeLast()
            return bytes
        }
    }
}
