import ClarityJobs
import ClarityScheduler
import JSON

/// Writes records as CSV (RFC 4180), each with everything that its source said of it.
///
/// A missing fact is an empty field. Times have the offset of the clock that wrote them. Metadata is
/// an object of JSON with texts.
struct RecordCSV {
    static let heading =
        "type,source,source_version,device,unit,created,start,end,value,metadata\r\n"

    /// The lines that were not taken yet.
    private(set) var bytes: [UInt8] = []
    private var times = TimeWriter()

    /// Appends the records of a segment that start in a range; returns how many there are.
    mutating func append(
        _ segment: Segment, type: String, _ range: Range<Int64>
    ) -> Int64 {
        // Many records share each of them.
        let origins = SegmentTexts(segment) { text in
            let origin = RecordOrigin(text)
            return [origin.type ?? type, origin.source, origin.version, origin.device, origin.unit]
                .map { CSVText.field($0 ?? "") }.joined(separator: ",") + ","
        }
        let words = SegmentTexts(segment) { CSVText.field(String(decoding: $0, as: UTF8.self)) }
        let metadata = SegmentTexts(segment) { CSVText.field(RecordMetadata($0).json.line) }
        var count: Int64 = 0
        for record in segment.records where range.contains(record.start) {
            count += 1
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
        return count
    }

    /// Removes all lines.
    mutating func clear() { bytes.removeAll(keepingCapacity: true) }
}
