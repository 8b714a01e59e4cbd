public import HealthStore

/// Makes the Observations of a month's records for a server, each under its id.
public struct ObservationWriter {
    private let segment: Segment
    private let type: String
    private let store: HealthStore
    private var lines: RecordObservations

    public init(
        _ segment: Segment, of type: String, in store: HealthStore, _ patient: FHIRPatient
    ) {
        (self.segment, self.type, self.store) = (segment, type, store)
        lines = RecordObservations(
            segment, type: type, Recipient(store: store, patient: patient))
    }

    /// Returns the id of each record, in their order, and the short form of it.
    public func ids() -> [(id: String, key: UInt64)] {
        var made = RecordIDs(segment, of: type, in: store)
        return segment.records.map { record in
            let id = made.next(record)
            return (id.text, id.high)
        }
    }

    /// Returns the first 8 bytes of an id, by which a ledger knows a record.
    public static func key(of id: String) -> UInt64 {
        let digits = id.utf8.lazy.filter { $0 != UInt8(ascii: "-") }.prefix(16)
        return digits.reduce(0) { key, digit in
            key << 4 | UInt64(digit <= UInt8(ascii: "9") ? digit &- 0x30 : digit &- 0x57)
        }
    }

    /// Returns the resource of a record under its id.
    public mutating func observation(_ record: ArchivedRecord, under id: String) -> [UInt8] {
        guard let id = FHIRID(id) else { return [] }
        var bytes: [UInt8] = []
        lines.append(record, under: id, to: &bytes)
        return bytes.dropLast()
    }
}
