import HealthStore

@testable import Import

/// A digest of a scanner's events (FNV-1a), and the number of records among them.
final class EventDigest: Equatable {
    private var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    private(set) var records: Int64 = 0

    static func == (left: EventDigest, right: EventDigest) -> Bool {
        left.hash == right.hash && left.records == right.records
    }

    func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }

    func add(_ mark: Unicode.Scalar, _ bytes: Bytes? = nil) {
        add(UInt8(truncatingIfNeeded: mark.value))
        bytes?.forEach(add)
    }

    func addRecord() { records += 1 }
}

/// Adds every byte that it receives to a digest.
struct DigestHandler: ExportHandler {
    let digest: EventDigest

    mutating func exportDate(_ value: Bytes) { digest.add("d", value) }

    mutating func record(
        _ bytes: Bytes, _ fields: RecordFields, isOpen: Bool, _ each: SampleHandler
    ) throws {
        digest.addRecord()
        digest.add(isOpen ? "o" : "r")
        add(bytes, fields)
    }

    mutating func metadata(_ bytes: Bytes, key: ByteRange, value: ByteRange) {
        digest.add("k", bytes.slice(key))
        digest.add("v", bytes.slice(value))
    }

    mutating func beat(_ bytes: Bytes, rate: ByteRange, time: ByteRange) {
        digest.add("b", bytes.slice(rate))
        digest.add("t", bytes.slice(time))
    }

    mutating func unknownPart(_ bytes: Bytes, _ attributes: AttributeList) {
        begin(.other, bytes, attributes)
    }

    mutating func begin(_ element: ExportElement, _ bytes: Bytes, _ attributes: AttributeList) {
        for (name, value) in attributes.attributes {
            digest.add("a", bytes.slice(name))
            digest.add("=", bytes.slice(value))
        }
    }

    mutating func elementMetadata(_ bytes: Bytes, key: ByteRange, value: ByteRange) {
        digest.add("K", bytes.slice(key))
        digest.add("V", bytes.slice(value))
    }

    mutating func end(_ element: ExportElement) { digest.add("z") }

    mutating func endElements() {}

    mutating func endRecord(_ each: SampleHandler) throws { digest.add("e") }

    mutating func nestedRecord(_ bytes: Bytes, _ fields: RecordFields?) {
        digest.addRecord()
        digest.add("n")
        if let fields { add(bytes, fields) }
    }

    mutating func closeCorrelation() { digest.add("c") }

    mutating func refuse(_ refusal: RecordRefusal) {
        digest.addRecord()
        digest.add("x")
    }

    mutating func activitySummary(_ bytes: Bytes, _ fields: SummaryFields) {
        for range in [fields.date, fields.energy, fields.energyUnit, fields.exercise, fields.stand]
        {
            digest.add("a", range.map(bytes.slice))
        }
    }

    mutating func finish(isWhole: Bool, _ each: SampleHandler) throws {
        digest.add(isWhole ? "f" : "c")
    }

    func write(to report: inout SourceReport) {}

    private func add(_ bytes: Bytes, _ fields: RecordFields) {
        let ranges: [(RecordFields.Field, ByteRange)] = [
            (.type, fields.type), (.source, fields.source), (.unit, fields.unit),
            (.value, fields.value), (.start, fields.start), (.end, fields.end),
            (.device, fields.device), (.key, fields.key),
        ]
        for (field, range) in ranges where fields.has(field) {
            digest.add("=", bytes.slice(range))
        }
    }
}
