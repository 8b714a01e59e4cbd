import Backend
import BackendContract
import HealthModel
import HealthStore
import ClarityScheduler

extension WorkContext {
    /// Returns the endpoint of every route that the backend has, the one for new batches first.
    ///
    /// - Parameters:
    ///   - wanted: the route for new batches. Without one, each kind uses the dialect's default
    ///     route if that accepts it, else another route that does.
    ///   - resends: whether a batch that was in doubt is sent again if that could duplicate
    ///     it.
    /// - Throws: `APIError.notOffered` if the backend does not have the wanted route; the error of
    ///   detecting the dialect.
    func endpoints(
        _ wanted: UploadRoute?, resends: Bool = true
    ) async throws(APIError) -> [UploadEndpoint] {
        let first = try await client.endpoint(wanted)
        var all = [first]
        for route in UploadRoute.allCases where route != first.route {
            do throws(APIError) {
                all.append(try await client.endpoint(route))
            } catch .notOffered {
                continue
            }
        }
        for index in all.indices {
            all[index].resends = resends
            all[index].takesNew = wanted == nil || all[index].route == wanted
        }
        return all
    }
}

extension UploadRefusal {
    /// The name of the count of samples that are kept back for this reason.
    var countName: String {
        switch self {
        case .kindNotAccepted: "samples_not_accepted"
        case .outOfRange, .notANumber: "samples_out_of_range"
        case .inFuture: "samples_in_future"
        case .inDoubt, .followed: "samples_in_doubt"
        }
    }
}

/// The limits that an upload observes beyond its job's constraints.
struct UploadLimits: Hashable, Sendable {
    /// The bytes that may be sent over a metered connection in 24 h; `nil` means any number.
    var meteredBudget: Int64?
    /// The maximum number of waiting samples that are sent on battery; 0 means any number.
    var largeUpload: Int64

    /// Returns the budget that applies now; `nil` if there is none, or if the connection is not
    /// known to be metered.
    func budget(_ conditions: OrderConditions) -> Int64? {
        conditions.metered == true ? meteredBudget : nil
    }

    /// Returns what to wait for before anything is sent; `nil` if nothing.
    ///
    /// - Parameter waiting: the number of samples that wait to be sent.
    func need(_ waiting: Int64, _ conditions: OrderConditions) -> SendLater? {
        guard largeUpload > 0, waiting > largeUpload, conditions.externalPower == false else {
            return nil
        }
        return SendLater(
            outcome: .awaits(
                .externalPower,
                Failure(
                    .work,
                    "\(waiting) samples wait, more than \(largeUpload): they are sent on external "
                        + "power")))
    }

    /// Returns the outcome when the budget has no room for the waiting samples. Nothing has failed,
    /// and the run continues by itself, even if the connection stays metered.
    ///
    /// - Parameter wait: the time until there may be room, or another connection.
    static func budgetUsed(_ budget: Int64, _ wait: Duration) -> SendLater {
        .snoozing(
            wait,
            "the \(sizeText(budget)) that may go over a metered connection in 24 h are used up")
    }

    /// Returns a size in the largest unit that gives a whole number.
    private static func sizeText(_ bytes: Int64) -> String {
        let units: [(name: String, bytes: Int64)] = [
            ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10),
        ]
        guard let unit = units.first(where: { bytes > 0 && bytes % $0.bytes == 0 }) else {
            return "\(bytes) bytes"
        }
        return "\(bytes / unit.bytes) \(unit.name)"
    }
}

/// The work continues later, at a known time.
struct SendLater: Error {
    let outcome: Outcome

    /// By this program's own count the hour's requests are used up; nothing has failed.
    static func budget(_ wait: Duration) -> SendLater {
        .snoozing(wait, "the requests that the backend allows in an hour are used up")
    }

    /// Nothing has failed, and the run continues by itself.
    static func snoozing(_ wait: Duration, _ reason: String) -> SendLater {
        SendLater(outcome: .snooze(after: wait, Failure(.work, reason)))
    }

    /// The backend accepts no more requests for now, although this program's count had room.
    static func refused(_ wait: Duration, _ failure: Failure) -> SendLater {
        SendLater(outcome: .retry(after: wait, failure))
    }
}

extension WorkContext {
    /// Returns the outcome of an upload that waits for the next hour, with the time that all
    /// samples take.
    func forecasting(_ later: SendLater, _ options: BulkUploadOptions) async throws -> SendLater {
        guard case .snooze(let wait, var failure) = later.outcome else { return later }
        let waiting = try store.outbox.waiting()
        let forecasts = try await endpoints(options.route).map {
            UploadForecast(waiting, $0, batchSize: options.batchSize)
        }
        guard let sentence = UploadForecast.sentence(forecasts) else { return later }
        failure.reason += ": \(sentence)"
        return SendLater(outcome: .snooze(after: wait, failure))
    }
}
