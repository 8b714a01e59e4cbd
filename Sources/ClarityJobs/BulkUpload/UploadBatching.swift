import Backend
import HealthModel

extension WorkContext {
    /// Returns the endpoint of every route that the backend has, the one for new batches first.
    ///
    /// - Parameters:
    ///   - wanted: the route for new batches. Without one, each kind uses the dialect's default
    ///     route if that accepts it, else another route that does.
    ///   - resends: whether a batch that was possibly sent is sent again if that could duplicate
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
        case .possiblySent, .followed: "samples_in_doubt"
        }
    }
}
