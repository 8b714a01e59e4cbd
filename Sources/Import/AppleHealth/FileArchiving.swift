import HealthStore
import JSON

/// Keeps the files beside the text of an export for the archive: the points of a route, an
/// electrocardiogram with its curve, and clinical documents as they came.
struct FileArchiving {
    /// The most refused files that are named.
    private static let mostNames = 100

    private var records: RecordArchiving
    private let facts: ExportFacts
    /// How many files and points were kept, by name.
    private var kept: [String: Int64] = [:]
    private var refused: [String: Int64] = [:]
    /// Why files were refused, by their names.
    private var reasons: [String: String] = [:]

    init(_ collector: ArchiveCollector, _ facts: ExportFacts) {
        records = RecordArchiving(collector)
        self.facts = facts
    }

    /// Keeps a file, or counts it as refused.
    ///
    /// - Parameter name: as the text of the export refers to it.
    mutating func add(_ text: ExportFiles.Text, of sort: Attachments, _ name: String) {
        do throws(ExportFileRefusal) {
            let text = try text.get()
            switch sort {
            case .workoutRoutes: return try addPoints(text, name)
            case .electrocardiograms:
                records.add(try Electrocardiogram(FileArchiving.valid(text)).record())
            case .clinicalRecords: records.add(try resource(text, name))
            case .clinicalDocuments:
                records.add(
                    try document(
                        FileArchiving.valid(text), name, KeptFile.clinicalDocument,
                        facts.exportDate))
            case .others: return
            }
            kept[sort.element, default: 0] += 1
        } catch {
            refused[sort.element, default: 0] += 1
            if reasons.count < FileArchiving.mostNames { reasons[name] = error.rawValue }
        }
    }

    private mutating func addPoints(
        _ text: [UInt8], _ name: String
    ) throws(ExportFileRefusal) {
        var points: Int64 = 0
        let refused = RoutePoint.forEach(in: text) { point in
            records.add(point.record(of: name))
            points += 1
        }
        if points > 0 { kept[RoutePoint.type, default: 0] += points }
        if refused > 0 { self.refused[RoutePoint.type, default: 0] += refused }
        guard points > 0 || RoutePoint.isRoute(text) else { throw .noRoute }
    }

    /// Returns the record of a FHIR resource, which has the time at which the clinic's record of it
    /// was received.
    private func resource(
        _ bytes: [UInt8], _ name: String
    ) throws(ExportFileRefusal) -> UnplacedRecord {
        let text = try FileArchiving.valid(bytes)
        let type: String?
        do throws(JSONFault) {
            type = try JSONParser.parse(bytes)["resourceType"]?.text
        } catch {
            throw .noResource
        }
        guard let type else { throw .noResource }
        var record = try document(
            text, name, KeptFile.clinicalResource, facts.received[name] ?? facts.exportDate)
        record.value = Array(type.utf8)
        return record
    }

    /// Returns a record with a whole file.
    private func document(
        _ text: String, _ name: String, _ type: String, _ date: HealthKitDate?
    ) throws(ExportFileRefusal) -> UnplacedRecord {
        guard let date else { throw .noDate }
        return UnplacedRecord(
            type: type,
            record: ArchivedRecord(
                start: date.seconds, end: date.seconds, created: nil,
                offsets: ClockOffsets(start: date.offset, end: date.offset), origin: 0,
                value: .none),
            origin: RecordOrigin(source: name),
            members: [JSON.Member(name: KeptFile.content, value: .string(text))])
    }

    /// Returns the text of a file, which the archive can give back byte for byte.
    private static func valid(_ bytes: [UInt8]) throws(ExportFileRefusal) -> String {
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            throw .notText
        }
        return text
    }

    /// Adds the records and the counts to the report.
    func write(to report: inout SourceReport) {
        report.records = records.collector
        report.elements.merge(kept, uniquingKeysWith: +)
        report.elementsRefused.merge(refused, uniquingKeysWith: +)
        report.filesRefused = reasons
    }
}
