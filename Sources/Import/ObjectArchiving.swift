import HealthStore
import ClarityScheduler
import JSON

/// Keeps records that are JSON objects for the archive: their interval, source, unit and number in
/// columns, and every other member as metadata.
struct ObjectArchiving {
    private(set) var collector = ArchiveCollector()

    /// Adds an object.
    ///
    /// - Parameters:
    ///   - numberName: the member with the number, which is the record's value.
    ///   - names: the members that stand in columns already.
    mutating func add(
        _ object: JSON, type: String, start: Instant, end: Instant, source: String?, unit: String?,
        numberName: String, besides names: Set<String>
    ) {
        guard case .object(let members) = object else { return }
        var value = ArchivedRecord.Value.none
        var metadata: [UInt8] = []
        for member in members where !names.contains(member.name) {
            if member.name == numberName, let number = number(member.value) {
                value = number
                continue
            }
            metadata += member.archived
        }
        let number = type.isPlainName() ? collector.type(type) : nil
        let origin = RecordOrigin(source: source, unit: unit, type: number == nil ? type : nil)
        let zero = ClockOffsets()
        collector.add(
            ArchivedRecord(
                start: start.secondsSince1970, end: end.secondsSince1970, created: nil,
                offsets: zero, origin: collector.texts.index(of: origin.bytes), value: value,
                metadata: metadata.isEmpty ? nil : collector.texts.index(of: metadata)),
            type: number ?? ArchiveCollector.otherType)
    }

    private mutating func number(_ json: JSON) -> ArchivedRecord.Value? {
        switch json {
        case .integer, .number: break
        default: return nil
        }
        let text = Array(json.line.utf8)
        if let number = text.withUnsafeBufferPointer(RecordNumber.parse) {
            return .number(mantissa: number.mantissa, decimals: number.decimals)
        }
        return .text(collector.texts.index(of: text))
    }
}

extension JSON.Member {
    /// The member as the metadata of a record has it: name and value, each with a byte 0 behind it.
    var archived: [UInt8] {
        let text = if case .string(let text) = value { text } else { value.line }
        return name.utf8.filter { $0 != 0 } + [0] + text.utf8.filter { $0 != 0 } + [0]
    }
}
