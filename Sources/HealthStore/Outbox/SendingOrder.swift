import HealthModel
import ClarityScheduler

/// The order in which queued samples go into batches.
///
/// Newest first, since what happened today matters most, with a fair share for the rest. Of four
/// places, two go to the newest samples. One goes to each kind in turn, for its newest sample. One
/// goes to the oldest sample. No kind can therefore block another, and the oldest sample goes
/// within four places, whatever comes in. The places continue from one batch to the next, so that
/// this holds for batches of one sample too.
struct SendingOrder {
    struct Candidate: Hashable {
        let row: Int64
        let kind: SampleKind
        let start: Int64

        fileprivate func isNewer(than other: Candidate) -> Bool {
            (start, row) > (other.start, other.row)
        }
    }

    /// The candidates of one kind in their order.
    private struct Line {
        let candidates: [Candidate]
        private var next = 0

        init(_ candidates: [Candidate]) { self.candidates = candidates }

        /// Returns the first candidate that is not taken; `nil` if there is none, or if the batch
        /// takes no more of the kind.
        mutating func head(_ taken: Set<Int64>, _ isFull: (SampleKind) -> Bool) -> Candidate? {
            while next < candidates.count, taken.contains(candidates[next].row) { next += 1 }
            guard next < candidates.count, !isFull(candidates[next].kind) else { return nil }
            return candidates[next]
        }
    }

    /// The candidates of each kind, newest first.
    private var newest: [Line]
    /// The candidates of each kind, oldest first.
    private var oldest: [Line]
    private var taken: Set<Int64> = []

    /// - Parameters:
    ///   - newest: the newest candidates of each kind, newest first; as many as a batch may hold.
    ///   - oldest: the oldest candidates of each kind, oldest first; as many as a batch may hold.
    init(newest: [SampleKind: [Candidate]], oldest: [SampleKind: [Candidate]]) {
        let kinds = newest.keys.sorted { $0.rawValue < $1.rawValue }
        self.newest = kinds.map { Line(newest[$0] ?? []) }
        self.oldest = kinds.map { Line(oldest[$0] ?? []) }
    }

    /// Chooses the samples of a batch.
    ///
    /// - Parameters:
    ///   - limit: how many places the batch has.
    ///   - number: the number of the batch among all batches.
    ///   - types: the backend's type of each kind; other kinds are left out.
    ///   - perType: the most samples of one type; `nil` for no limit.
    mutating func fill(
        _ limit: Int, batch number: Int64, types: [SampleKind: String], perType: Int? = nil
    ) -> [Candidate] {
        var chosen: [Candidate] = []
        var ofType: [String: Int] = [:]
        func isFull(_ kind: SampleKind) -> Bool {
            guard let type = types[kind] else { return true }
            return perType.map { ofType[type, default: 0] >= $0 } ?? false
        }
        let first = number.multipliedReportingOverflow(by: Int64(limit)).partialValue
        for offset in 0..<Int64(limit) {
            let place = UInt64(bitPattern: first &+ offset)
            let next =
                switch place % 4 {
                case 2: turn(Int(place / 4 % UInt64(max(1, newest.count))), isFull)
                case 3: back(isFull)
                default: front(isFull)
                }
            guard let next, let type = types[next.kind] else { break }
            taken.insert(next.row)
            ofType[type, default: 0] += 1
            chosen.append(next)
        }
        return chosen
    }

    /// Returns the newest sample of all kinds.
    private mutating func front(_ isFull: (SampleKind) -> Bool) -> Candidate? {
        newest.indices.compactMap { newest[$0].head(taken, isFull) }.max { $1.isNewer(than: $0) }
    }

    /// Returns the newest sample of the kind whose turn it is, or of the next kind that has one.
    private mutating func turn(_ kind: Int, _ isFull: (SampleKind) -> Bool) -> Candidate? {
        for step in newest.indices {
            let found = newest[(kind + step) % newest.count].head(taken, isFull)
            if let found { return found }
        }
        return nil
    }

    /// Returns the oldest sample of all kinds.
    private mutating func back(_ isFull: (SampleKind) -> Bool) -> Candidate? {
        oldest.indices.compactMap { oldest[$0].head(taken, isFull) }.max { $0.isNewer(than: $1) }
    }
}

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
