import ClarityContract
import ClarityScheduler
import FoundationEssentials

/// Reads the answers to one call. Errors name the call and the field, never the content.
struct AnswerReader {
    /// The longest cursor that is accepted from a page, in bytes.
    static let longestCursor = 1024

    /// The name of the call for people.
    let call: String

    init(call: String) { self.call = call }

    init(_ call: APICall) { self.call = call.name }

    /// Decodes a whole answer.
    ///
    /// - Throws: `APIError.decoding`.
    func decode<Wire: Decodable>(
        _ type: Wire.Type, from body: some Collection<UInt8>
    ) throws(APIError) -> Wire {
        do {
            return try JSONDecoder().decode(type, from: Data(body))
        } catch let error as DecodingError {
            throw .decoding("\(call): \(AnswerReader.part(error))")
        } catch {
            throw .decoding("\(call): it is no JSON")
        }
    }

    /// Reads the receipt of an upload of `count` samples to an endpoint.
    func receipt(
        _ body: [UInt8], from endpoint: UploadEndpoint, count: Int
    ) throws(APIError) -> UploadReceipt {
        switch endpoint.form {
        case .metrics: try metricsReceipt(body, count: count)
        case .healthKit: try samplesReceipt(body, count: count)
        }
    }

    /// Reads the receipt of an upload that is accepted as a whole. If the backend did not receive
    /// each sample as one object, the answer is not about this upload.
    private func samplesReceipt(_ body: [UInt8], count: Int) throws(APIError) -> UploadReceipt {
        let wire = try decode(SamplesUploadWire.self, from: body)
        guard wire.received.values.allSatisfy({ (0...count).contains($0) }),
            wire.received.values.reduce(0, +) == count
        else { throw .decoding("\(call): `samples_received` is not what was sent") }
        return UploadReceipt(processingID: wire.uploadID, accepted: count)
    }

    private func metricsReceipt(_ body: [UInt8], count: Int) throws(APIError) -> UploadReceipt {
        let wire = try decode(UploadWire.self, from: body)
        let faults = FaultReport(wire.validationErrors ?? []).faults.filter { $0.index < count }
        let duplicates = Set(faults.filter(\.isDuplicate).map(\.index))
        var reasons: [Int: String] = [:]
        var words: [Int: String] = [:]
        // A metric may break several rules; keep the first that the backend named.
        for fault in faults where !duplicates.contains(fault.index) && reasons[fault.index] == nil {
            reasons[fault.index] = "`\(fault.field)`: \(fault.code)"
            words[fault.index] = fault.words
        }
        guard (0...count).contains(wire.accepted) else {
            throw .decoding("\(call): `accepted_metrics` is beyond what was sent")
        }
        return UploadReceipt(
            processingID: wire.processingID, accepted: wire.accepted,
            duplicates: duplicates.sorted(),
            rejected: reasons.sorted { $0.key < $1.key }.map {
                .init(index: $0.key, reason: $0.value, words: words[$0.key])
            },
            unexplained: max(0, count - wire.accepted - duplicates.count - reasons.count))
    }

    /// Reads the progress of an upload.
    ///
    /// - Parameters:
    ///   - whole: the number with which the backend reports that all of its work is done; if `nil`,
    ///     its progress is ignored.
    ///   - storedWord: the backend's status for an upload that is stored and never reported on
    ///     again.
    func processing(
        _ body: [UInt8], whole: Double?, storedWord: String? = nil
    ) throws(APIError) -> ProcessingStatus {
        let wire = try decode(ProcessingWire.self, from: body)
        if wire.status == storedWord { return ProcessingStatus(state: .stored, progress: nil) }
        var progress: Double?
        if let whole, let share = wire.progress { progress = min(max(share / whole, 0), 1) }
        return ProcessingStatus(
            state: ProcessingStatus.State(wire: wire.status), progress: progress)
    }

    /// Reads the page that was requested with `cursor`.
    ///
    /// If the backend pages by offset, the next cursor is the number of rows up to the end of this
    /// page, and a page without rows is the last one, whatever it says.
    func healthData(
        _ body: [UInt8], after cursor: String?, paging: Dialect.Paging = .cursor
    ) throws(APIError) -> HealthDataPage {
        let wire = try decode(HealthDataPageWire.self, from: body)
        var next = wire.pagination.hasNext ? wire.pagination.nextCursor : nil
        if paging == .offset {
            let count = JSONSlices.elements(of: body, at: ["data"])?.count ?? 0
            let before = cursor.flatMap { Int($0) } ?? 0
            next =
                wire.pagination.hasNext && count > 0
                ? String(before.addingReportingOverflow(count).partialValue) : nil
        }
        // A page that names itself as the next one would be read forever.
        guard next == nil || next != cursor else {
            throw .decoding("\(call): `pagination.next_cursor` does not move on")
        }
        // The cursor goes into a URL, and into a report of one line if the work stops there.
        guard next.map({ $0.utf8.count <= AnswerReader.longestCursor }) ?? true else {
            throw .decoding(
                "\(call): `pagination.next_cursor` is longer than "
                    + "\(AnswerReader.longestCursor) bytes")
        }
        let (rows, unreadable) = try rows(of: body, at: ["data"]) { bytes throws(APIError) in
            let row = try decode(HealthDataRowWire.self, from: bytes)
            return Instant(rfc3339: row.timestamp).map {
                HealthDataRow(id: row.id, type: row.type, timestamp: $0, json: Array(bytes))
            }
        }
        return HealthDataPage(rows: rows, unreadableRows: unreadable, nextCursor: next)
    }

    /// Reads a page of insights.
    func insights(_ body: [UInt8]) throws(APIError) -> InsightsPage {
        let wire = try decode(InsightsPageWire.self, from: body)
        guard wire.success else { throw .decoding("\(call): `success` is false") }
        let path = ["data", "insights"]
        var unfinished: [String] = []
        let (rows, others) = try rows(of: body, at: path) {
            bytes throws(APIError) -> InsightRow? in
            let row = try decode(InsightRowWire.self, from: bytes)
            guard row.status != "generating" else {
                unfinished.append(row.id)
                return nil
            }
            return row.generatedAt.flatMap { Instant(rfc3339: $0) }.map {
                InsightRow(id: row.id, generatedAt: $0, json: Array(bytes))
            }
        }
        return InsightsPage(
            rows: rows, unreadableRows: others - unfinished.count, unfinished: unfinished,
            hasMore: wire.data.hasMore)
    }

    /// Returns the rows that `read` makes of the array's elements, and the number of elements that
    /// make none. A malformed element does not hold up the others.
    private func rows<Row>(
        of body: [UInt8], at path: [String],
        _ read: (ArraySlice<UInt8>) throws(APIError) -> Row?
    ) throws(APIError) -> (rows: [Row], others: Int) {
        guard let elements = JSONSlices.elements(of: body, at: path) else {
            throw .decoding("\(call): `\(path.joined(separator: "."))` is not a list")
        }
        var rows: [Row] = []
        for element in elements {
            do throws(APIError) {
                if let row = try read(element) { rows.append(row) }
            } catch {
                continue
            }
        }
        return (rows, elements.count - rows.count)
    }

    /// Describes the part of an answer that is at fault. Its path consists of our names and
    /// indices.
    private static func part(_ error: DecodingError) -> String {
        func name(_ path: [any CodingKey]) -> String {
            path.reduce(into: "") { name, key in
                if let index = key.intValue {
                    name += "[\(index)]"
                } else {
                    name += (name.isEmpty ? "" : ".") + key.stringValue
                }
            }
        }
        func described(_ path: [any CodingKey], _ fault: String) -> String {
            path.isEmpty ? "it \(fault)" : "`\(name(path))` \(fault)"
        }
        return switch error {
        case .keyNotFound(let key, let context):
            described(context.codingPath + [key], "is missing")
        case .typeMismatch(_, let context): described(context.codingPath, "has another type")
        case .valueNotFound(_, let context): described(context.codingPath, "is null")
        case .dataCorrupted(let context): described(context.codingPath, "is no valid JSON")
        @unknown default: "it is not understood"
        }
    }
}
