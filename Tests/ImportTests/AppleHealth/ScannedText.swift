import HealthStore

@testable import Import

/// What a scanner reported of a text, one line each.
struct ScannedText: Equatable {
    var lines: [String]
    var report: SourceReport

    /// Scans a text that arrives in pieces of this size.
    init(_ bytes: [UInt8], piece: Int = .max, windowSize: Int = 1 << 18) throws {
        let log = Log()
        var reading = ExportReading(
            source: MemorySource(bytes, piece: piece), mapper: Lines(log: log),
            windowSize: windowSize)
        report = try reading.run { _, _ in }
        lines = log.lines
    }

    /// Scans a text inside a root.
    init(body: String) throws {
        try self.init(Array("<HealthData>\(body)</HealthData>".utf8))
    }

    private final class Log {
        var lines: [String] = []
    }

    /// A handler that records everything. It lexes each record again for all of its attributes, and
    /// compares the known fields with them.
    private struct Lines: ExportHandler {
        let log: Log

        mutating func exportDate(_ value: Bytes) { log.lines.append("date \(escaped(value))") }

        mutating func record(
            _ bytes: Bytes, _ fields: RecordFields, isOpen: Bool, _ each: SampleHandler
        ) throws {
            log.lines.append("record" + attributes(bytes, fields))
        }

        mutating func metadata(_ bytes: Bytes, key: ByteRange, value: ByteRange) {
            log.lines.append(
                "metadata \(escaped(bytes.slice(key)))=\(escaped(bytes.slice(value)))")
        }

        mutating func beat(_ bytes: Bytes, rate: ByteRange, time: ByteRange) {}

        mutating func unknownPart(_ bytes: Bytes, _ attributes: AttributeList) {}

        mutating func begin(
            _ element: ExportElement, _ bytes: Bytes, _ attributes: AttributeList
        ) {}

        mutating func elementMetadata(_ bytes: Bytes, key: ByteRange, value: ByteRange) {}

        mutating func end(_ element: ExportElement) {}

        mutating func endElements() {}

        mutating func endRecord(_ each: SampleHandler) throws { log.lines.append("end") }

        mutating func nestedRecord(_ bytes: Bytes, _ fields: RecordFields?) {
            log.lines.append("nested" + (fields.map { attributes(bytes, $0) } ?? " unreadable"))
        }

        mutating func closeCorrelation() { log.lines.append("close") }

        mutating func refuse(_ refusal: RecordRefusal) {
            log.lines.append("refused \(refusal.rawValue)")
        }

        mutating func activitySummary(_ bytes: Bytes, _ fields: SummaryFields) {
            let values = [
                fields.date, fields.energy, fields.energyUnit, fields.exercise, fields.stand,
            ]
            log.lines.append(
                "summary "
                    + values.map { $0.map { escaped(bytes.slice($0)) } ?? "-" }
                    .joined(separator: " "))
        }

        mutating func finish(isWhole: Bool, _ each: SampleHandler) throws {}

        func write(to report: inout SourceReport) {}

        private func attributes(_ bytes: Bytes, _ fields: RecordFields) -> String {
            var lexer = TagLexer<AttributeList>()
            _ = lexer.lex(bytes, from: fields.tagStart)
            let list = lexer.attributes
            for field in RecordFields.Field.allCases {
                let range = list.value(of: field.name, in: bytes)
                guard fields.has(field) == (range != nil) else { return " \(field) lost" }
                if let range, let known = fields.range(of: field),
                    known.start != range.start || known.end != range.end
                {
                    return " \(field) elsewhere"
                }
            }
            return list.attributes.map { name, value in
                " \(escaped(bytes.slice(name)))=\(escaped(bytes.slice(value)))"
            }.joined()
        }

        /// Decodes references, and writes `%` and every byte that is no visible ASCII in a form
        /// such as `%0A`.
        private func escaped(_ bytes: Bytes) -> String {
            Reference.decode(bytes).map { byte in
                if byte > 0x20, byte < 0x7F, byte != 0x25 {
                    return String(Unicode.Scalar(byte))
                }
                let digits = String(byte, radix: 16, uppercase: true)
                return digits.count == 1 ? "%0\(digits)" : "%\(digits)"
            }.joined()
        }
    }
}

extension RecordFields {
    /// Returns the range of a field's value, or `nil` if only the field's presence is known.
    fileprivate func range(of field: Field) -> ByteRange? {
        switch field {
        case .type: type
        case .source: source
        case .unit: unit
        case .value: value
        case .start: start
        case .end: end
        case .device: device
        case .key: key
        case .created, .version, .rate, .time, .formerSource, .average: nil
        }
    }
}
