import ClarityJobs
import ClarityScheduler

// What the client says of a route, as the outbox packs by it.

extension BatchRules {
    /// Reads the rules of a route.
    ///
    /// - Parameters:
    ///   - resends: what becomes of a batch that may have arrived where a second one doubles it.
    ///   - clock: by which a sample is in the future.
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

    /// The rules of every route that the backend has, the one for new batches first.
    ///
    /// - Parameter wanted: the route for new batches; without one each kind goes by the dialect's
    ///   standard where that takes it, else by another route that does.
    /// - Throws: `APIError.notOffered` when the backend has no such route; what finding out what the
    ///   backend speaks failed with.
    static func all(
        _ context: WorkContext, _ wanted: UploadRoute?, resends: Bool
    ) async throws(APIError) -> [BatchRules] {
        let first = try await context.client.uploadRules(wanted)
        var all = [first]
        for route in UploadRoute.allCases where route != first.route {
            do throws(APIError) {
                all.append(try await context.client.uploadRules(route))
            } catch .notOffered {
                continue
            }
        }
        return all.map {
            var rules = BatchRules($0, resends: resends, clock: context.clock)
            rules.takesNew = wanted == nil || $0.route == wanted
            return rules
        }
    }
}

extension UploadRefusal {
    /// Where the outbox keeps such a sample.
    fileprivate var hold: OutboxHold {
        switch self {
        case .kindNotAccepted: .kind
        case .outOfRange, .notANumber: .range
        case .inFuture: .future
        }
    }
}

extension OutboxHold {
    /// The name under which samples that are kept back for this are counted.
    var countName: String {
        switch self {
        case .kind: "samples_not_accepted"
        case .range: "samples_out_of_range"
        case .future: "samples_in_future"
        case .doubt: "samples_in_doubt"
        }
    }
}
