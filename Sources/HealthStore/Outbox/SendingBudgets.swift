public import HealthModel
public import ClarityScheduler
import Database

/// Limits requests so that the backend never counts more than its limit in an hour.
///
/// A backend's hours may begin at any time, and it counts a request when the request arrives. A
/// sliding window of an hour keeps the limit whenever the backend's hours begin. The window is a
/// minute longer, since a request may take that long to arrive. The requests of all processes count
/// together: each is recorded in the transaction that takes its batch.
enum HourlyBudget {
    /// The window in which requests are counted: an hour, and the longest time that a request may
    /// take.
    static let window = Duration.seconds(3600 + 60)

    /// Returns how long to wait before the next request; `nil` if it may be sent now.
    ///
    /// - Parameters:
    ///   - sent: when the requests of the last `window` were sent, oldest first. If the clock was
    ///     set back, some instants are later than `now`; they count as `now`.
    ///   - limit: the most requests in an hour, at least 1.
    static func wait(after sent: [Instant], limit: Int, now: Instant) -> Duration? {
        let counted = sent.filter { now - $0 < window }
        guard counted.count >= limit else { return nil }
        // There is room again when this request leaves the window.
        return min(counted[counted.count - limit], now) + window - now
    }
}

extension Outbox {
    /// Stops requests to `route` because the backend refused one although the budget had room.
    ///
    /// The backend may count requests of others too, or may have begun to count anew. Its current
    /// hour began no later than our oldest request in the window, so the hour is over when that
    /// request leaves the window. Without such a request, the wait is one `HourlyBudget.window`.
    ///
    /// - Parameter retryAfter: the wait that the backend asked for, if believable. It replaces that
    ///   wait unless it is exactly an hour, which only says that the backend counts by the hour.
    /// - Returns: how long to send nothing.
    public func closeRoute(
        _ route: UploadRoute, for retryAfter: Duration?, at now: Instant
    ) throws(HealthStoreError) -> Duration {
        try store.changeAnyway { connection in
            let sent = try requests(by: route, at: now, connection)
            let wish = retryAfter.flatMap { $0 == .seconds(3600) ? nil : $0 }
            let wait =
                wish ?? (sent.first.map { min($0, now) } ?? now) + HourlyBudget.window - now
            try connection.run(
                """
                INSERT INTO closures (route, until_ms) VALUES (?, ?)
                ON CONFLICT (route) DO UPDATE SET until_ms = excluded.until_ms
                """, .text(route.rawValue), .instant(now + wait))
            return wait
        }
    }

    /// Returns how long a request under these rules has to wait; `nil` if it may be sent now.
    func requestWait(
        _ rules: UploadEndpoint, at now: Instant, _ connection: Connection
    ) throws -> Duration? {
        guard let limit = rules.requestsPerHour else { return nil }
        let until = try connection.first(
            "SELECT until_ms FROM closures WHERE route = ?", .text(rules.route.rawValue)
        ) { $0.instant(0) }
        if let until, until > now {
            // A time further ahead was stored before the clock was set back.
            let wait = until - now
            return wait > RetryPolicy.longestMaximum ? HourlyBudget.window : wait
        }
        let sent = try requests(by: rules.route, at: now, connection)
        return HourlyBudget.wait(after: sent, limit: max(1, limit), now: now)
    }

    /// Counts a request that is about to be sent.
    func countRequest(_ rules: UploadEndpoint, at now: Instant, _ connection: Connection) throws {
        guard rules.requestsPerHour != nil else { return }
        try connection.run(
            "INSERT INTO requests (route, sent_at_ms) VALUES (?, ?)",
            .text(rules.route.rawValue), .instant(now))
    }

    /// Returns the requests that still count, oldest first, and deletes the others.
    private func requests(
        by route: UploadRoute, at now: Instant, _ connection: Connection
    ) throws -> [Instant] {
        let name = Value.text(route.rawValue)
        // Requests from before the clock was set back count as sent now.
        try connection.run(
            "UPDATE requests SET sent_at_ms = ? WHERE route = ? AND sent_at_ms > ?",
            .instant(now), name, .instant(now))
        try connection.run(
            "DELETE FROM requests WHERE route = ? AND sent_at_ms <= ?", name,
            .instant(now - HourlyBudget.window))
        return try connection.all(
            "SELECT sent_at_ms FROM requests WHERE route = ? ORDER BY sent_at_ms", name
        ) { $0.instant(0) }
    }
}

/// Limits how many bytes are sent over a metered connection, and computes when there is room again.
struct MeteredBudget {
    /// The sliding window to which the budget applies.
    static let window = Duration.seconds(24 * 3600)
    /// The longest wait for room. It is short, so that the end of a metered connection is noticed
    /// soon.
    static let patience = Duration.seconds(3600)

    /// The most bytes in any 24 h.
    let bytes: Int64
    private let now: Instant
    /// The bytes sent within the window, oldest first.
    private let sent: [(at: Instant, bytes: Int64)]

    /// Creates a budget, given what was sent already.
    ///
    /// - Parameter sent: when how many bytes were sent, in any order. If the clock was set back,
    ///   some instants are later than `now`; they count as `now`.
    init(_ bytes: Int64, after sent: [(at: Instant, bytes: Int64)], now: Instant) {
        self.bytes = bytes
        self.now = now
        self.sent =
            sent
            .filter { now - $0.at < MeteredBudget.window }
            .map { (min($0.at, now), $0.bytes) }
            .sorted { $0.at < $1.at }
    }

    /// The bytes that may be sent now.
    var room: Int64 {
        let used = sent.reduce(into: Int64(0)) { sum, entry in
            let (next, overflow) = sum.addingReportingOverflow(entry.bytes)
            sum = overflow ? .max : next
        }
        return max(0, bytes - min(bytes, used))
    }

    /// Rounds up to a multiple of 4 KiB, because the exact length of a body depends on its values.
    static func rounded(_ bytes: Int64) -> Int64 {
        let (sum, overflow) = bytes.addingReportingOverflow(4095)
        return overflow ? bytes : sum / 4096 * 4096
    }

    /// Returns the bytes that must be free before a new batch is made.
    ///
    /// A batch that the budget would shorten waits until a sixteenth of the budget is free, so that
    /// the last bytes are not spent on tiny batches.
    ///
    /// - Parameters:
    ///   - first: the most bytes of a request with the first sample alone.
    ///   - whole: the most bytes of the batch that would be made without a budget.
    func wanted(first: Int64, whole: Int64) -> Int64 { min(whole, max(first, bytes / 16)) }

    /// Returns how long until this many bytes are free, at most an hour; `nil` if they are free
    /// now.
    ///
    /// More than the whole budget is never free. The caller then asks again at least once an hour.
    func wait(for wanted: Int64) -> Duration? {
        guard room < wanted else { return nil }
        var kept: Int64 = 0
        for entry in sent.reversed() {
            let (sum, overflow) = kept.addingReportingOverflow(entry.bytes)
            guard !overflow, sum <= bytes - wanted else {
                // There is room when this entry leaves the window.
                return min(MeteredBudget.patience, entry.at + MeteredBudget.window - now)
            }
            kept = sum
        }
        return MeteredBudget.patience
    }
}

extension Outbox {
    /// Returns the budget with what was sent in its window, and deletes older entries.
    func meteredBudget(
        _ bytes: Int64, at now: Instant, _ connection: Connection
    ) throws -> MeteredBudget {
        try connection.run(
            "UPDATE metered_bytes SET sent_at_ms = ?1 WHERE sent_at_ms > ?1",
            .instant(now))
        try connection.run(
            "DELETE FROM metered_bytes WHERE sent_at_ms <= ?",
            .instant(now - MeteredBudget.window))
        let sent = try connection.all("SELECT sent_at_ms, bytes FROM metered_bytes") {
            (at: $0.instant(0), bytes: $0.integer(1))
        }
        return MeteredBudget(bytes, after: sent, now: now)
    }

    /// Counts a request that is about to be sent, by the most bytes that one try can have.
    /// `sentMetered` later replaces this with the bytes of all tries.
    ///
    /// - Returns: the id of the entry, for `sentMetered`.
    func countMetered(_ bytes: Int, at now: Instant, _ connection: Connection) throws -> Int64 {
        try connection.insert(
            "INSERT INTO metered_bytes (sent_at_ms, bytes) VALUES (?, ?) RETURNING id",
            .instant(now), .integer(MeteredBudget.rounded(Int64(bytes))))
    }

    /// Records how many bytes were really sent for a batch, in all tries together. It may be more
    /// than the budget had left.
    ///
    /// If the process ends before this call, the estimate of one try stays.
    public func sentMetered(_ batch: OutboxBatch, bytes: Int64) throws(HealthStoreError) {
        guard let entry = batch.meteredEntry else { return }
        try store.changeAnyway { connection in
            try connection.run(
                "UPDATE metered_bytes SET bytes = ? WHERE id = ?",
                .integer(MeteredBudget.rounded(max(0, bytes))),
                .integer(entry))
        }
    }
}

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
