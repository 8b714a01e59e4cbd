import HealthModel
import ClarityScheduler

// How many samples fit one request to an endpoint.

extension UploadEndpoint {
    /// The backend's type for each kind that it accepts.
    var types: [SampleKind: String] {
        var types: [SampleKind: String] = [:]
        for kind in SampleKind.allCases { types[kind] = metricType(of: kind) }
        return types
    }

    /// Whether these samples may form one request.
    func fits(_ batch: [Sample], at now: Instant) -> Bool {
        batch.allSatisfy { refusal(of: $0, at: now) == nil }
            && choose(batch.map(\.kind), limit: samplesPerRequest).count == batch.count
            && prefix(of: batch) == batch.count
    }

    /// Returns the indices of the samples for one request: the first that stay within the limits,
    /// in ascending order.
    ///
    /// - Parameter limit: how many samples are wanted, at least 1.
    func choose(_ kinds: [SampleKind], limit: Int) -> [Int] {
        var chosen: [Int] = []
        var ofType: [String: Int] = [:]
        for (place, kind) in kinds.enumerated() {
            guard chosen.count < min(limit, samplesPerRequest) else { break }
            guard let type = metricType(of: kind) else { continue }
            if let perType, ofType[type, default: 0] >= perType { continue }
            ofType[type, default: 0] += 1
            chosen.append(place)
        }
        return chosen
    }

    /// Returns how many samples, counted from the first, surely take no more than `requestBytes`.
    ///
    /// The result is at least 1 for a batch that is not empty, even if its first sample alone is
    /// too large.
    ///
    /// - Parameter room: a smaller limit in bytes, if there is one.
    func prefix(of batch: [Sample], within room: Int64 = .max) -> Int {
        let bytes = min(Int64(requestBytes), room)
        var size = UploadEndpoint.envelopeBytes
        for (place, sample) in batch.enumerated() {
            size += sample.mostBytes
            if size > bytes { return max(1, place) }
        }
        return batch.count
    }

    /// Returns an upper bound for the bytes of a request with these samples.
    static func mostBytes(of batch: [Sample]) -> Int {
        batch.reduce(envelopeBytes) { $0 + $1.mostBytes }
    }

    /// An upper bound for the bytes of a request around its samples.
    static let envelopeBytes = 2048
}

extension Sample {
    /// An upper bound for the bytes of the sample in a request, whatever the request's format.
    ///
    /// Names, ids and numbers have known lengths. A byte of the source's name takes up to six bytes
    /// where JSON must escape it.
    var mostBytes: Int {
        let own =
            switch value {
            case .single, .pressure: 768
            case .sleep, .activity: 1280
            case .values(let values): 1280 + 6 * (values.text?.utf8.count ?? 0)
            }
        return own + 6 * (source?.utf8.count ?? 0)
    }
}
