import BackendContract
public import HealthModel
public import ClarityScheduler
import JSON

/// The account that the backend reports.
public struct UserProfile: Hashable, Sendable {
    public var userID: String
    /// `nil` if the backend does not report it.
    public var email: String?
    public var displayName: String?
    /// Whether the e-mail address is confirmed; `nil` if the backend does not report it.
    public var isVerified: Bool?
    /// Further facts that the backend reports about the account.
    public var details = Details()

    /// Facts that are shown and decide nothing; `nil` if the backend does not report them.
    public struct Details: Hashable, Sendable {
        public var firstName: String?
        public var lastName: String?
        public var role: String?
        public var permissions: [String] = []
        public var status: String?
        public var createdAt: Instant?
        public var lastLogin: Instant?
        public var hasSecondFactor: Bool?
        /// The service that authenticates the user.
        public var provider: String?
    }
}

/// The backend's progress with an upload.
public struct ProcessingStatus: Hashable, Sendable {
    /// A step of the backend's work.
    public enum State: String, Sendable {
        case received
        case processing
        case completed
        case failed
        /// The upload is stored, and the backend reports nothing more about it.
        case stored
        /// A step that the contract does not have; the work may go on.
        case other

        /// Reads the backend's word; an upload that waits in a queue counts as received.
        init(wire word: String) {
            self = word == "queued" ? .received : State(rawValue: word) ?? .other
        }
    }

    public var state: State
    /// The finished share, 0 to 1; `nil` if the backend does not report it.
    public var progress: Double?
}

/// A row of health data as the backend stores it, with the fields that a cache finds it by.
public struct HealthDataRow: Hashable, Sendable {
    public var id: String
    public var type: String
    /// The backend's instant of the row; the later one wins a conflict.
    public var timestamp: Instant
    /// The row's JSON as it was received.
    public var json: [UInt8]
}

/// A page of health data.
public struct HealthDataPage: Hashable, Sendable {
    public var rows: [HealthDataRow]
    /// The number of rows without a readable id, type or instant; `rows` leaves them out.
    public var unreadableRows: Int
    /// The cursor of the next page; `nil` on the last one.
    public var nextCursor: String?
}

/// An insight in the history as it was received, with the fields that a cache finds it by.
public struct InsightRow: Hashable, Sendable {
    public var id: String
    public var generatedAt: Instant
    /// The insight's JSON as it was received.
    public var json: [UInt8]
}

/// A page of insights, newest first.
public struct InsightsPage: Hashable, Sendable {
    public var rows: [InsightRow]
    /// The number of rows without a readable id or instant; `rows` leaves them out.
    public var unreadableRows = 0
    /// The ids of insights that the backend is still making; `rows` leaves them out.
    public var unfinished: [String] = []
    /// The number of insights that the backend is still making.
    public var unfinishedRows: Int { unfinished.count }
    /// Whether the backend has more; a page without rows is the last one all the same.
    public var hasMore: Bool
}

// Rows are health data: their descriptions and dumps show what they are, not what they hold.

extension HealthDataRow: CustomStringConvertible, CustomReflectable {
    public var description: String { "health data row of \(json.count) bytes" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension InsightRow: CustomStringConvertible, CustomReflectable {
    public var description: String { "insight of \(json.count) bytes" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The result of a registration.
public struct RegistrationResult: Hashable, Sendable {
    /// `nil` if the backend does not report it.
    public var userID: String?
    /// Whether the e-mail address must be confirmed before anybody can log in.
    public var needsVerification: Bool
}

/// A full insight as it was received, with its state.
public struct Insight: Hashable, PrivateValue {
    public enum State: Hashable, Sendable {
        case generating, completed, failed
    }

    /// `nil` if the backend gives a new insight none; the history lists it with the same
    /// `generatedAt`.
    public var id: String?
    public var state: State
    public var generatedAt: Instant?
    /// The insight's JSON as it was received.
    public var json: [UInt8]
}

/// An analysis of a recording as it was received, with its state.
public struct Analysis: Hashable, PrivateValue {
    public enum State: String, Hashable, Sendable {
        case received, processing, completed, failed
        case notFound = "not_found"
        /// A state that the contract does not have; the work may go on.
        case other
    }

    public var id: String
    public var state: State
    /// Whether the backend had already analysed the same recording.
    public var isCached: Bool
    /// The answer's JSON as it was received.
    public var json: [UInt8]
}

/// The health that a service of the backend reports; it proves little.
public struct ServiceHealth: Hashable, Sendable {
    public var isHealthy: Bool
    public var service: String?
    public var version: String?
}

/// Reads the answers to one call. Errors name the call and the field, never the content.
///
/// Only fields that are used are read, and a field that only some dialects have may be missing.
struct AnswerReader {
    /// The longest cursor that is accepted from a page, in bytes.
    static let longestCursor = 1024

    /// The name of the call for people.
    let call: String

    init(call: String) { self.call = call }

    init(_ call: APICall) { self.call = call.name }

    /// Reads a whole answer.
    ///
    /// - Throws: `APIError.decoding`.
    func read<Value>(
        _ body: [UInt8], _ value: (JSONPart) throws(JSONPart.Fault) -> Value
    ) throws(APIError) -> Value {
        do throws(JSONPart.Fault) {
            return try value(try JSONPart(of: body))
        } catch {
            throw .decoding("\(call): \(error)")
        }
    }

    /// Reads the receipt of an upload of `count` samples to an endpoint.
    func receipt(
        _ body: [UInt8], from endpoint: UploadEndpoint, count: Int
    ) throws(APIError) -> UploadReceipt {
        try read(body) { answer throws(JSONPart.Fault) in
            var receipt =
                switch endpoint.format {
                case .metrics: try UploadReceipt(metrics: answer, count: count)
                case .healthKit: try UploadReceipt(samples: answer, count: count)
                }
            receipt.isStored = endpoint.storageProof == .acceptance
            return receipt
        }
    }

    /// Reads the progress of an upload to an endpoint.
    func processing(
        _ body: [UInt8], from endpoint: UploadEndpoint
    ) throws(APIError) -> ProcessingStatus {
        try read(body) { answer throws(JSONPart.Fault) in
            let status = try answer.member("status").text()
            let share = try answer["progress"]?.number()
            if endpoint.storageProof == .status(status) {
                return ProcessingStatus(state: .stored, progress: nil)
            }
            var progress: Double?
            if let whole = endpoint.wholeProgress, let share {
                progress = min(max(share / whole, 0), 1)
            }
            return ProcessingStatus(state: ProcessingStatus.State(wire: status), progress: progress)
        }
    }

    /// Reads the page that was requested with `cursor`.
    ///
    /// If the backend pages by offset, the next cursor is the number of rows up to the end of this
    /// page, and a page without rows is the last one, whatever it says.
    func healthData(
        _ body: [UInt8], after cursor: String?, paging: Dialect.Paging = .cursor
    ) throws(APIError) -> HealthDataPage {
        try read(body) { answer throws(JSONPart.Fault) in
            let pagination = try answer.member("pagination")
            let hasNext = try pagination.member("has_next").flag()
            let named = try pagination["next_cursor"]?.text()
            let page = try answer.rows("data", HealthDataRow.init)
            var next = hasNext ? named : nil
            if paging == .offset {
                let count = page.rows.count + page.others
                let before = cursor.flatMap { Int($0) } ?? 0
                next =
                    hasNext && count > 0
                    ? String(before.addingReportingOverflow(count).partialValue) : nil
            }
            // A page that names itself as the next one would be read forever.
            guard next == nil || next != cursor else {
                throw pagination.fault("does not move on", at: "next_cursor")
            }
            // The cursor goes into a URL, and into a report of one line if the work stops there.
            guard next.map({ $0.utf8.count <= AnswerReader.longestCursor }) ?? true else {
                throw pagination.fault(
                    "is longer than \(AnswerReader.longestCursor) bytes", at: "next_cursor")
            }
            return HealthDataPage(rows: page.rows, unreadableRows: page.others, nextCursor: next)
        }
    }
}

extension JSONPart {
    /// Returns the rows that `read` makes of a list's elements, and the number of elements that
    /// make none. A malformed element does not hold up the others.
    fileprivate func rows<Row>(
        _ name: String, _ read: (JSONPart) throws(Fault) -> Row?
    ) throws(Fault) -> (rows: [Row], others: Int) {
        guard let list = try self[name], list.isList else {
            throw fault("is not a list", at: name)
        }
        let elements = try list.elements()
        let rows = elements.compactMap { element in lenient { try read(element) } }
        return (rows, elements.count - rows.count)
    }

    /// The part as an instant; `nil` if its text is none.
    fileprivate func instant() throws(Fault) -> Instant? { Instant(rfc3339: try text()) }
}

// MARK: - Uploads and health data

extension UploadReceipt {
    /// Reads the receipt of an upload whose samples are accepted one by one.
    fileprivate init(metrics answer: JSONPart, count: Int) throws(JSONPart.Fault) {
        let id = try answer.member("processing_id").text()
        let accepted = try answer.member("accepted_metrics")
        let total = try accepted.integer()
        let items = try answer["validation_errors"].map(FaultReport.items) ?? []
        let faults = FaultReport(items).faults.filter { $0.index < count }
        let duplicates = Set(faults.filter(\.isDuplicate).map(\.index))
        var reasons: [Int: String] = [:]
        var words: [Int: String] = [:]
        // A metric may break several rules; keep the first that the backend named.
        for fault in faults where !duplicates.contains(fault.index) && reasons[fault.index] == nil {
            reasons[fault.index] = "`\(fault.field)`: \(fault.code)"
            words[fault.index] = fault.words
        }
        guard (0...count).contains(total) else { throw accepted.fault("is beyond what was sent") }
        self.init(
            processingID: id, accepted: total, duplicates: duplicates.sorted(),
            rejected: reasons.sorted { $0.key < $1.key }.map {
                .init(index: $0.key, reason: $0.value, words: words[$0.key])
            },
            unexplained: max(0, count - total - duplicates.count - reasons.count))
    }

    /// Reads the receipt of an upload that is accepted as a whole. If the backend did not receive
    /// each sample as one object, the answer is not about this upload.
    fileprivate init(samples answer: JSONPart, count: Int) throws(JSONPart.Fault) {
        let id = try answer.member("upload_id").text()
        // The number of samples received in each list.
        let received = try answer.member("samples_received")
        let numbers = try received.names().map { name throws(JSONPart.Fault) in
            try received.member(name).integer()
        }
        guard numbers.allSatisfy({ (0...count).contains($0) }), numbers.reduce(0, +) == count
        else { throw received.fault("is not what was sent") }
        self.init(processingID: id, accepted: count)
    }
}

extension HealthDataRow {
    /// Reads a row: a measurement, a whole metric as it was uploaded, or a whole upload.
    fileprivate init?(_ row: JSONPart) throws(JSONPart.Fault) {
        let id = try row.member("id", or: "metric_id").text()
        let type: String
        if try row.has("metrics") {
            // The backend has no type for an upload of several types.
            let types = Set(try row.member("metrics").names())
            type = types.count == 1 ? types.joined() : "upload"
        } else {
            type = try row.member("type", or: "metric_type").text()
        }
        guard let timestamp = try row.member("timestamp", or: "created_at").instant() else {
            return nil
        }
        self.init(id: id, type: type, timestamp: timestamp, json: Array(row.bytes))
    }
}

// MARK: - Insights and analyses

extension InsightsPage {
    init(_ answer: JSONPart) throws(JSONPart.Fault) {
        let success = try answer.member("success")
        let isSuccess = try success.flag()
        let data = try answer.member("data")
        let hasMore = try data.member("has_more").flag()
        guard isSuccess else { throw success.fault("is false") }
        var unfinished: [String] = []
        let (rows, others) = try data.rows("insights") { row throws(JSONPart.Fault) in
            let id = try row.member("id").text()
            let date = try row["generated_at"]?.text()
            // A history may leave the status out.
            guard try row["status"]?.text() != "generating" else {
                unfinished.append(id)
                return nil as InsightRow?
            }
            return date.flatMap { Instant(rfc3339: $0) }.map {
                InsightRow(id: id, generatedAt: $0, json: Array(row.bytes))
            }
        }
        self.init(
            rows: rows, unreadableRows: others - unfinished.count, unfinished: unfinished,
            hasMore: hasMore)
    }
}

extension Insight {
    /// Reads an insight that is finished or still being made.
    init(_ answer: JSONPart) throws(JSONPart.Fault) {
        let isSuccess = try answer.member("success").flag()
        let data = try answer.member("data")
        let state: State =
            switch try data["status"]?.text() {
            case "generating": .generating
            case "failed": .failed
            default: isSuccess ? .completed : .failed
            }
        self.init(
            id: try data["id"]?.text(), state: state,
            generatedAt: try data["generated_at"]?.instant(), json: Array(data.bytes))
    }
}

extension Analysis {
    /// Reads the answer to a recording that was sent, or to a request for the state of its
    /// analysis.
    init(_ answer: JSONPart) throws(JSONPart.Fault) {
        let id = try answer.member("analysis_id", or: "processing_id").text()
        let status = try answer.member("status").text()
        self.init(
            id: id, state: State(rawValue: status) ?? .other,
            isCached: try answer["cached"]?.flag() ?? false, json: Array(answer.bytes))
    }
}
