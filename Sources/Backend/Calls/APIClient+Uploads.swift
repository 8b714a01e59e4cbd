public import BackendContract
public import HealthModel
public import ClarityScheduler

extension APIClient {
    /// Returns the endpoint of `route`, or of the dialect's standard route if it is `nil`.
    ///
    /// - Throws: `APIError.notOffered` if the backend has no such route, or the error that
    ///   detecting the dialect failed with.
    public func endpoint(_ route: UploadRoute? = nil) async throws(APIError) -> UploadEndpoint {
        try await requests.dialect.endpoint(route)
    }

    /// Uploads a batch by its route.
    ///
    /// If the backend keeps each metric id once, the client repeats the upload like any other call,
    /// although it is a `POST`: a second try after a lost answer duplicates nothing. Otherwise it
    /// sends nothing again after an error that `mayHaveArrived`.
    ///
    /// - Throws: `APIError.validation` with the indices that the backend named, empty if it named
    ///   none; `.requestTooLarge` if the batch should be halved.
    public func upload(_ batch: UploadBatch) async throws(APIError) -> UploadReceipt {
        try await send(batch).result.get()
    }

    /// Uploads a batch as `upload` does, and returns what the backend said if it refused it.
    package func send(_ batch: UploadBatch) async -> UploadEnd {
        var refusal: HTTPResponse?
        do throws(APIError) {
            return UploadEnd(
                result: .success(try await receipt(of: batch) { refusal = $0 }), words: nil)
        } catch {
            return UploadEnd(
                result: .failure(error),
                words: refusal.map { RefusalWords(FaultReport($0.body)) })
        }
    }

    private func receipt(
        of batch: UploadBatch, refused: (HTTPResponse?) -> Void
    ) async throws(APIError) -> UploadReceipt {
        let count = batch.metrics.count
        let endpoint = try await requests.dialect.endpoint(batch.route)
        do throws(APIError) {
            let body = try await answer(to: endpoint.route.call, refused: refused) {
                requests, token throws(APIError) in
                try requests.upload(batch, token: token)
            }
            return try AnswerReader(endpoint.route.call).receipt(body, from: endpoint, count: count)
        } catch .conflict(let named) {
            // This backend keeps every copy and refuses none: the conflict is about something else.
            guard endpoint.isIdempotent else { throw .rejected(status: 409) }
            // The backend refused the whole upload because of duplicates. A single metric is the
            // duplicate; of several, only those that the backend names are known to be.
            let duplicates = count == 1 ? [0] : named.filter { $0 < count }
            guard !duplicates.isEmpty else { throw .validation(indices: []) }
            return UploadReceipt(
                processingID: nil, accepted: 0, duplicates: duplicates,
                unexplained: count - duplicates.count)
        }
    }

    /// Returns the progress of an upload that went by `route`.
    ///
    /// A backend may answer forever that it has begun, so the caller needs a limit of its own.
    public func processing(
        _ id: String, route: UploadRoute = .metrics
    ) async throws(APIError) -> ProcessingStatus {
        let endpoint = try await requests.dialect.endpoint(route)
        let body = try await answer(to: endpoint.route.statusCall) {
            requests, token throws(APIError) in
            try requests.processing(id, route: route, token: token)
        }
        return try AnswerReader(endpoint.route.statusCall).processing(body, from: endpoint)
    }

    /// Returns what proves that an upload by `route` is stored; `nil` if the backend has no such
    /// route.
    package func storageProof(
        _ route: UploadRoute
    ) async throws(APIError) -> UploadEndpoint.StorageProof? {
        try await requests.dialect.endpoints[route]?.storageProof
    }

    /// Returns a page of the health data that the backend has; the first one without `cursor`.
    public func healthDataPage(
        limit: Int, cursor: String? = nil
    ) async throws(APIError) -> HealthDataPage {
        let paging = try await requests.dialect.paging
        let body = try await answer(to: .healthData) { requests, token throws(APIError) in
            try requests.healthDataPage(limit: limit, cursor: cursor, token: token)
        }
        return try AnswerReader(.healthData).healthData(body, after: cursor, paging: paging)
    }

    /// Returns the route whose uploads the backend deletes by their ids; `nil` if it deletes none.
    package func deletableRoute() async throws(APIError) -> UploadRoute? {
        try await requests.dialect.routes[.deleteHealthData].map { _ in .metrics }
    }

    /// Deletes at the backend what came with an upload of metrics, for good.
    ///
    /// Success proves nothing: the backend also reports it for an id that never existed.
    public func deleteHealthData(_ id: String) async throws(APIError) {
        _ = try await answer(to: .deleteHealthData) { requests, token throws(APIError) in
            try requests.request(.deleteHealthData, id: id, token: token)
        }
    }
}

/// How an upload ended.
package struct UploadEnd: Sendable {
    package let result: Result<UploadReceipt, APIError>
    /// What the backend said in its last answer, if it refused the upload; `nil` without an answer.
    package let words: RefusalWords?
}

/// A sample, and the id under which the backend stores it.
public struct UploadMetric: Hashable, Sendable {
    /// A UUID, the same for the same sample at every try: the backend refuses an id that it has.
    public var id: String
    public var sample: Sample

    /// Creates a metric.
    public init(id: String, sample: Sample) {
        self.id = id
        self.sample = sample
    }
}

/// The content of one upload; the same batch has the same bytes at every try.
public struct UploadBatch: Hashable, Sendable {
    /// The outbox's id of the batch, at most 1,024 characters; sent as the sync token, so that the
    /// backend's operator can tell a repeated upload from a new one.
    public var id: String
    public var userID: String
    /// When the batch was made; stored with it, because a later try must not change it.
    public var clientTimestamp: Instant
    /// At least one metric, and at most the dialect's limit.
    public var metrics: [UploadMetric]
    /// The endpoint that the batch goes to; stored with it as well.
    public var route: UploadRoute

    /// Creates a batch.
    public init(
        id: String, userID: String, clientTimestamp: Instant, metrics: [UploadMetric],
        route: UploadRoute = .metrics
    ) {
        self.id = id
        self.userID = userID
        self.clientTimestamp = clientTimestamp
        self.metrics = metrics
        self.route = route
    }
}

/// The backend's answer about each metric of an upload.
///
/// Indices are those of the batch's `metrics`, ascending, each in at most one of the lists.
public struct UploadReceipt: Hashable, Sendable {
    /// A metric that the backend refused.
    public struct Rejection: Hashable, Sendable {
        public var index: Int
        /// The backend's code and its name for the field; holds no value and none of its sentences.
        public var reason: String
        /// The backend's sentence without numbers and quotations; to be stored encrypted.
        public var words: String?
    }

    /// The id to pass to `APIClient.processing`; `nil` if the backend accepted nothing new.
    public var processingID: String?
    /// The number of metrics that are new to the backend.
    public var accepted: Int
    /// The metrics that the backend already had.
    public var duplicates: [Int] = []
    public var rejected: [Rejection] = []
    /// The number of metrics that the answer neither counts as accepted nor names. If it is not 0,
    /// nothing shows which they are; sending them again is harmless.
    public var unexplained = 0
    /// Whether the answer proves that what was accepted is stored.
    public var isStored = false
}

// Uploads are health data: their descriptions and dumps show what they are, not what they hold.

extension UploadMetric: CustomStringConvertible, CustomReflectable {
    public var description: String { "metric `\(id)`" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension UploadBatch: CustomStringConvertible, CustomReflectable {
    public var description: String { "batch `\(id)` of \(metrics.count) metrics" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
