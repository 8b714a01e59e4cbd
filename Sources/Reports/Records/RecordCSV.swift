import HealthStore
import ClarityScheduler
import JSON

/// Writes records as CSV (RFC 4180), each with everything that its source said of it.
///
/// A missing fact is an empty field. Times have the offset of the clock that wrote them. Metadata is
/// an object of JSON with texts.
struct RecordCSV: RecordLines {
    static let heading =
        "type,source,source_version,device,unit,created,start,end,value,metadata\r\n"

    // Many records share each of them.
    private let origins: SegmentTexts<[UInt8]>
    private let words: SegmentTexts<[UInt8]>
    private let metadata: SegmentTexts<[UInt8]>
    private var times = TimeWriter()

    static func fileName(of type: String) -> String { "\(type).csv" }

    init(_ segment: Segment, type: String) {
        origins = SegmentTexts(segment) { text in
            let origin = RecordOrigin(text)
            let fields = [
                origin.type ?? type, origin.source, origin.version, origin.device, origin.unit,
            ]
            return Array(
                (fields.map { CSVText.field($0 ?? "") }.joined(separator: ",") + ",").utf8)
        }
        words = SegmentTexts(segment) {
            Array(CSVText.field(String(decoding: $0, as: UTF8.self)).utf8)
        }
        metadata = SegmentTexts(segment) { Array(CSVText.field(RecordMetadata($0).json.line).utf8) }
    }

    mutating func append(_ record: ArchivedRecord, to bytes: inout [UInt8]) {
        bytes += origins[record.origin]
        if let created = record.created {
            times.append(created, record.offsets.created, to: &bytes)
        }
        bytes.append(UInt8(ascii: ","))
        times.append(record.start, record.offsets.start, to: &bytes)
        bytes.append(UInt8(ascii: ","))
        times.append(record.end, record.offsets.end, to: &bytes)
        bytes.append(UInt8(ascii: ","))
        switch record.value {
        case .none: break
        case .number(let mantissa, let decimals):
            bytes += RecordNumber.text(mantissa: mantissa, decimals: decimals).utf8
        case .text(let index): bytes += words[index]
        }
        bytes.append(UInt8(ascii: ","))
        if let index = record.metadata { bytes += metadata[index] }
        bytes += [0x0D, 0x0A]
    }
}
