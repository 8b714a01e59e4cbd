public import HealthModel
import ClarityScheduler

/// How long the waiting samples take to send if the backend limits the requests of an hour.
public struct UploadForecast: Hashable, Sendable {
    /// The number of waiting samples that the route accepts.
    let samples: Int64
    /// The minimum number of requests for them.
    let requests: Int64
    let requestsPerHour: Int?
    let route: UploadRoute

    /// Estimates by the waiting samples, an endpoint and the job file's `batch_size`.
    package init(_ waiting: [SampleKind: Int64], _ endpoint: UploadEndpoint, batchSize: Int?) {
        var types: [String: Int64] = [:]
        for (kind, count) in waiting {
            if let type = endpoint.metricType(of: kind) { types[type, default: 0] += count }
        }
        func requests(for count: Int64, _ size: Int) -> Int64 {
            (count + Int64(size) - 1) / Int64(max(1, size))
        }
        samples = types.values.reduce(0, +)
        let size = min(batchSize ?? endpoint.samplesPerRequest, endpoint.samplesPerRequest)
        let byType = endpoint.perType.flatMap { most in
            types.values.map { requests(for: $0, most) }.max()
        }
        self.requests = max(requests(for: samples, size), byType ?? 0)
        requestsPerHour = endpoint.requestsPerHour
        route = endpoint.route
    }

    /// The minimum number of hours for the requests; `nil` if an hour is enough.
    var hours: Int64? {
        guard let limit = requestsPerHour, limit > 0, requests > limit else { return nil }
        return (requests + Int64(limit) - 1) / Int64(limit)
    }

    /// Returns `7000 samples take about 70 h at 100 requests an hour`, with a faster route if there
    /// is one; `nil` if an hour is enough.
    package static func sentence(_ forecasts: [UploadForecast]) -> String? {
        guard let first = forecasts.first, let hours = first.hours,
            let limit = first.requestsPerHour
        else { return nil }
        var sentence =
            "\(first.samples) samples take about \(hours) h at \(limit) requests an hour"
        let faster = forecasts.dropFirst().filter {
            $0.samples >= first.samples && ($0.hours ?? 1) < hours
        }
        if let best = faster.min(by: { ($0.hours ?? 1, $0.requests) < ($1.hours ?? 1, $1.requests) }
        ) {
            sentence +=
                "; `route: \(best.route.rawValue)` needs \(counted(best.requests, "requests"))"
        }
        return sentence
    }

    /// Returns the line of `outbox` about the waiting samples; `nil` if they take no more than an
    /// hour, or if the dialect is not known yet.
    ///
    /// - Parameters:
    ///   - waiting: the number of waiting samples of each kind.
    ///   - dialects: the name of the dialect in the job file, then the one that the store
    ///     remembers; the first known one counts.
    ///   - route: the route that the job file names; without one, the dialect's default.
    public static func line(
        _ waiting: [SampleKind: Int64], dialects: [String?], route: String?, batchSize: Int?
    ) -> String? {
        guard let dialect = Dialect.first(of: dialects) else { return nil }
        let first = route.flatMap { UploadRoute(rawValue: $0) } ?? dialect.standardRoute
        let routes = [first] + UploadRoute.allCases.filter { $0 != first }
        return sentence(
            routes.compactMap { route in
                dialect.endpoints[route].map {
                    UploadForecast(waiting, $0, batchSize: batchSize)
                }
            })
    }
}
