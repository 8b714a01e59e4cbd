public import Backend
public import HealthStore
public import ClarityScheduler

/// Deletes uploads at the backend, one after the other.
///
/// The deployed backend reports success for the deletion of any id. Therefore each upload is asked
/// about before and after: it is deleted if the backend had it and then does not know it.
public struct UploadErasure {
    private let store: HealthStore
    private let client: APIClient
    private let clock: any WallClock

    /// Creates an erasure of the uploads of a store.
    public init(_ store: HealthStore, _ client: APIClient, clock: any WallClock) {
        self.store = store
        self.client = client
        self.clock = clock
    }

    /// Returns what can be erased.
    ///
    /// - Parameter ids: only the uploads of these samples; without one, all uploads.
    public func plan(_ ids: [Int64]) async throws -> ErasurePlan {
        try store.outbox.erasurePlan(ids, of: try await client.deletableRoute())
    }

    /// Deletes the uploads of a plan until an error of the backend ends it.
    ///
    /// A kill at any instant loses nothing: the next plan has what is left.
    public func run(
        _ plan: ErasurePlan
    ) async throws -> (receipt: ErasureReceipt, fault: APIError?) {
        var receipt = ErasureReceipt()
        for (number, upload) in plan.uploads.enumerated() {
            do {
                try await erase(upload, &receipt)
            } catch let fault as APIError {
                receipt.left = Int64(plan.uploads.count - number)
                return (receipt, fault)
            }
        }
        return (receipt, nil)
    }

    private func erase(_ upload: ErasableUpload, _ receipt: inout ErasureReceipt) async throws {
        let wasThere = try await isThere(upload)
        if wasThere { try store.outbox.beginErasing(upload, at: clock.now) }
        if wasThere || !upload.isBegun { try await delete(upload) }
        if try await isThere(upload) {
            receipt.stillThere += 1
        } else if wasThere || upload.isBegun {
            let samples = try store.outbox.erase(upload, at: clock.now)
            receipt.uploads += 1
            receipt.samples.merge(samples, uniquingKeysWith: +)
        } else {
            receipt.unproven += 1
        }
    }

    private func delete(_ upload: ErasableUpload) async throws(APIError) {
        do throws(APIError) {
            try await client.deleteHealthData(upload.processingID)
        } catch {
            // A backend that checks the id does not find it when the first try had no answer.
            // Whether it has the upload is asked afterwards in any case.
            guard case .notFound = error else { throw error }
        }
    }

    private func isThere(_ upload: ErasableUpload) async throws(APIError) -> Bool {
        do throws(APIError) {
            _ = try await client.processing(upload.processingID, route: upload.route)
            return true
        } catch .notFound {
            return false
        }
    }
}
