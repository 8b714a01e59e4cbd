import Backend
import BackendContract
import HealthStore
import JSON
import ClarityScheduler

/// Uploads the entries of the audit log to the job's own URL, each once as far as possible.
///
/// The store remembers the last entry that the receiver confirmed with a status of 2xx. If an
/// answer is lost, the worker sends the same entries again; their numbers and hashes show that they
/// are duplicates. An entry contains only its kinds and counts: no value, no account, no job and no
/// run.
///
/// The worker verifies the log first. It uploads a broken log too, and notes that the log is
/// broken.
struct AuditUploadWorker: KindWorker {
    var changesHealthData: Bool { false }

    func run(_ options: AuditUploadOptions, _ context: WorkContext) async throws -> Outcome {
        var counts = WorkCounts(context)
        counts.add(0, to: "entries_sent")
        let proof = try context.store.audit.verify()
        if let broken = proof.broken {
            context.note("the audit log is broken at entry \(broken.number): \(broken.reason)")
        }
        var last = try context.store.audit.uploadedNumber()
        while true {
            try context.checkTime()
            let records = try context.store.audit.records(after: last, limit: options.pageSize)
            guard let end = records.last?.number else { return .success }
            let response: HTTPResponse
            do throws(TransportError) {
                response = try await context.transport.send(
                    AuditUploadWorker.request(options.url, records))
            } catch {
                return AuditUploadWorker.outcome(of: AuditUploadWorker.failure(of: error))
            }
            if let refusal = AuditUploadWorker.refusal(status: response.status) {
                return AuditUploadWorker.outcome(of: refusal)
            }
            try context.store.audit.confirmUpload(through: end)
            counts.add(records.count, to: "entries_sent")
            last = end
        }
    }

    /// Returns a request with one object a line (NDJSON).
    static func request(_ url: String, _ records: [AuditRecord]) -> HTTPRequest {
        let body = records.flatMap { $0.uploadedBytes + [UInt8(ascii: "\n")] }
        return HTTPRequest(
            .post, url, headers: [HTTPHeader("Content-Type", .plain("application/x-ndjson"))],
            body: body)
    }

    private static func outcome(of failure: Failure) -> Outcome {
        failure.category == .unreachable ? .retry(after: nil, failure) : .failure(failure)
    }

    /// Returns the failure that an answer means; `nil` if the receiver took the entries.
    private static func refusal(status: Int) -> Failure? {
        let answer = "the audit log's receiver answers \(status)"
        return switch status {
        case 200...299: nil
        case 300...399:
            Failure(.configuration, "\(answer), which sends elsewhere; name that place")
        case 401, 403: Failure(.credential, answer)
        case 408, 425, 429, 500...599: Failure(.unreachable, answer)
        default: Failure(.work, answer)
        }
    }

    /// Returns the failure of a request without an answer, in words of its own: those of the error
    /// are about the backend.
    private static func failure(of error: TransportError) -> Failure {
        let receiver = "the audit log's receiver"
        return switch error {
        case .pinMismatch:
            Failure(.configuration, "the key of \(receiver) is none of its `pins`")
        case .authoritiesUnreadable:
            Failure(.configuration, "the certificates of the job's `ca_bundle` cannot be read")
        default: error.failure(of: receiver).failure
        }
    }
}

extension AuditUploadOptions: WorkedOptions {
    static var worker: any KindWorker { AuditUploadWorker() }
}

extension AuditRecord {
    /// The part of the entry that may leave this machine: its kinds and counts, and its position in
    /// the chain. It does not name the account, a job or a run.
    var uploadedBytes: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.field("number", number: Int(number))
            json.field("hash", hash)
            json.field("at", at.description)
            guard let entry else { return json.field("damaged", true) }
            json.field("action", entry.action.rawValue)
            json.object("counts") { json in
                for (kind, count) in entry.counts.sorted(by: { $0.key < $1.key }) {
                    json.field(kind, number: Int(count))
                }
            }
        }
        return json.bytes
    }
}
