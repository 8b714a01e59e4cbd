public import ClarityJobs
import ClarityScheduler

extension APIClient {
    /// What an upload by `route` must keep to; without one by the dialect's standard route.
    ///
    /// - Throws: `APIError.notOffered` when the backend has no such route; what finding out the
    ///   dialect failed with.
    public func uploadRules(_ route: UploadRoute? = nil) async throws(APIError) -> UploadRules {
        try await requests.uploadRules(route)
    }

    /// Uploads a batch by its route.
    ///
    /// A `POST`, and yet repeated like any call where the backend keeps each metric's id once, so
    /// that a try whose answer was lost leaves nothing that a second one would double. Where it does
    /// not, nothing is sent again after an error that `mayHaveArrived`.
    ///
    /// - Throws: `APIError.validation` with the indices that the backend named, none when it named
    ///   none; `.requestTooLarge` when the batch should be halved.
    public func upload(_ batch: UploadBatch) async throws(APIError) -> UploadReceipt {
        let count = batch.metrics.count
        let door = try await requests.dialect.door(batch.route)
        do throws(APIError) {
            let body = try await answer(to: door.call) { requests, token throws(APIError) in
                try requests.upload(batch, token: token)
            }
            return try AnswerReader(door.call).receipt(body, from: door, count: count)
        } catch .conflict(let named) {
            // Where each copy is kept, none is refused for being one: it is about something else.
            guard door.isIdempotent else { throw .rejected(status: 409) }
            // A whole upload refused for what it repeats: of one metric it is clear which, of
            // several only what the backend names is known to be there.
            let duplicates = count == 1 ? [0] : named.filter { $0 < count }
            guard !duplicates.isEmpty else { throw .validation(indices: []) }
            return UploadReceipt(
                processingID: nil, accepted: 0, duplicates: duplicates,
                unexplained: count - duplicates.count)
        }
    }

    /// Asks how far the backend is with an upload that went by `route`.
    ///
    /// A backend may answer for ever that it has begun: whoever asks needs an end of their own.
    public func processing(
        _ id: String, route: UploadRoute = .metrics
    ) async throws(APIError) -> ProcessingStatus {
        let door = try await requests.dialect.door(route)
        let body = try await answer(to: door.statusCall) { requests, token throws(APIError) in
            try requests.processing(id, route: route, token: token)
        }
        return try AnswerReader(door.statusCall).processing(
            body, whole: door.wholeProgress, storedWord: door.storedWord)
    }

    /// Whether what the backend says of an upload by `route` can prove that it is stored.
    func provesStorage(_ route: UploadRoute) async throws(APIError) -> Bool {
        try await requests.dialect.doors[route]?.storedWord != nil
    }

    /// Reads a page of the health data that the backend has; the first without a `cursor`.
    public func healthDataPage(
        limit: Int, cursor: String? = nil
    ) async throws(APIError) -> HealthDataPage {
        let paging = try await requests.dialect.paging
        let body = try await answer(to: .healthData) { requests, token throws(APIError) in
            try requests.healthDataPage(limit: limit, cursor: cursor, token: token)
        }
        return try AnswerReader(.healthData).healthData(body, after: cursor, paging: paging)
    }

    /// Has the backend remove what came with an upload of metrics. For good, and a success proves
    /// nothing: it is the answer for an id that never was as well.
    public func deleteHealthData(_ id: String) async throws(APIError) {
        _ = try await answer(to: .deleteHealthData) { requests, token throws(APIError) in
            try requests.request(.deleteHealthData, id: id, token: token)
        }
    }
}
