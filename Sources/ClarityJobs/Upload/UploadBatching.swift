import Backend
import HealthStore
import HealthModel
import ClarityScheduler

// The client's rules of a route, in the form that the outbox makes batches by.

extension BatchRules {
    /// Creates the rules from those of a route.
    ///
    /// - Parameters:
    ///   - resends: whether a batch that was possibly sent is sent again if that could duplicate
    ///     it.
    ///   - clock: the clock that decides whether a sample is in the future.
    init(_ rules: UploadRules, resends: Bool, clock: any WallClock) {
        var types: [SampleKind: String] = [:]
        for kind in SampleKind.allCases { types[kind] = rules.metricType(of: kind) }
        self.init(
            route: rules.route, samples: rules.samplesPerRequest, perType: rules.perType,
            bytes: rules.requestBytes, requestsPerHour: rules.requestsPerHour,
            isIdempotent: rules.isIdempotent, resends: resends, types: types,
            kindReason: UploadRefusal.kindNotAccepted.description,
            refusal: { sample in
                rules.refusal(of: sample, at: clock.now).map {
                    Refusal($0.hold, $0.description)
                }
            })
    }

    /// Returns the rules of every route that the backend has, the one for new batches first.
    ///
    /// - Parameter wanted: the route for new batches. Without one, each kind uses the dialect's
    ///   default route if that accepts it, else another route that does.
    /// - Throws: `APIError.notOffered` if the backend does not have the wanted route; the error of
    ///   detecting the dialect.
    static func all(
        _ context: WorkContext, _ wanted: UploadRoute?, resends: Bool
    ) async throws(APIError) -> [BatchRules] {
        try await context.routes(wanted).map {
            var rules = BatchRules($0, resends: resends, clock: context.clock)
            rules.takesNew = wanted == nil || $0.route == wanted
            return rules
        }
    }
}

extension WorkContext {
    /// Returns the client's rules of every route that the backend has, the one for new batches
    /// first.
    func routes(_ wanted: UploadRoute?) async throws(APIError) -> [UploadRules] {
        let first = try await client.uploadRules(wanted)
        var all = [first]
        for route in UploadRoute.allCases where route != first.route {
            do throws(APIError) {
                all.append(try await client.uploadRules(route))
            } catch .notOffered {
                continue
            }
        }
        return all
    }
}

extension UploadRefusal {
    /// The reason for which the outbox keeps such a sample back.
    fileprivate var hold: OutboxHold {
        switch self {
        case .kindNotAccepted: .kind
        case .outOfRange, .notANumber: .range
        case .inFuture: .future
        }
    }
}

extension OutboxHold {
    /// The name of the count of samples that are kept back for this reason.
    var countName: String {
        switch self {
        case .kind: "samples_not_accepted"
        case .range: "samples_out_of_range"
        case .future: "samples_in_future"
        case .possiblySent: "samples_in_doubt"
        }
    }
}
