public import HealthModel
public import ClarityScheduler
import Database

/// The samples on their way to the backend.
public struct Outbox: Sendable {
    let store: HealthStore

    var cipher: Cipher { store.cipher }

    /// Returns the number of samples in each state.
    public func counts() throws(HealthStoreError) -> OutboxCounts {
        try store.snapshot { connection in try counts(connection) }
    }

    /// Counts all samples, packed ones too.
    func counts(_ connection: Connection) throws -> OutboxCounts {
        var counts = try stateCounts(connection)
        for totals in try PackedSamples(cipher: cipher, connection: connection).totals().values {
            counts[OutboxState.confirmed.rawValue, default: 0] += totals.confirmed
            counts[OutboxState.stored.rawValue, default: 0] += totals.stored
            counts[OutboxState.queued.rawValue, default: 0] += totals.kept
        }
        return OutboxCounts(counts)
    }

    /// Returns the number of samples in each state in which the backend has not confirmed them; the
    /// time grows with that number alone.
    public func backlog() throws(HealthStoreError) -> OutboxCounts {
        try store.snapshot { connection in
            var counts = try stateCounts(
                connection,
                ofAlone: "state = 'queued' OR state = 'rejected' OR state = 'setAside'",
                inBatches: """
                    batch_id IN (SELECT id FROM batches WHERE state = 'sending'
                        OR state = 'accepted' OR state = 'unconfirmed')
                        AND outbox.state = 'batched'
                    """)
            // What was read before there was a backend: the first upload puts it into the queue.
            for totals in try PackedSamples(cipher: cipher, connection: connection).totals().values
            {
                counts[OutboxState.queued.rawValue, default: 0] += totals.kept
            }
            return OutboxCounts(counts)
        }
    }

    /// Counts the rows by state: those that are in no batch, and those that are in one. Both are
    /// counted in an index.
    private func stateCounts(
        _ connection: Connection, ofAlone alone: String = "true", inBatches: String = "true"
    ) throws -> [String: Int64] {
        var counts = try connection.counts(
            """
            SELECT state, count(*) FROM outbox WHERE batch_id IS NULL AND (\(alone)) GROUP BY state
            """)
        let batched = try connection.counts(
            """
            SELECT iif(outbox.state = 'batched', coalesce(batches.state, 'lost'), outbox.state),
                count(*)
            FROM outbox LEFT JOIN batches ON batches.id = batch_id
            WHERE batch_id IS NOT NULL AND \(inBatches) GROUP BY 1
            """)
        counts.merge(batched, uniquingKeysWith: +)
        // Asked apart: the reasons of all rows are in no index.
        for (name, reason) in [
            (OutboxCounts.discarded, Outbox.discardedReason),
            (OutboxCounts.erased, Outbox.erasedReason),
        ] {
            let count =
                try connection.first(
                    """
                    SELECT count(*) FROM outbox
                    WHERE \(Outbox.isAlone(.rejected)) AND \(Outbox.isGivenUp(reason))
                    """
                ) { $0.integer(0) } ?? 0
            guard count > 0 else { continue }
            counts[OutboxState.rejected.rawValue, default: 0] -= count
            counts[name] = count
        }
        return counts
    }

    /// Returns the number of samples that are queued or being sent, by kind.
    public func waiting() throws(HealthStoreError) -> [SampleKind: Int64] {
        try store.snapshot { connection in
            let queued = try connection.counts(
                "SELECT kind, count(*) FROM outbox WHERE \(Outbox.isAlone(.queued)) GROUP BY kind")
            let sending = try connection.counts(
                """
                SELECT kind, count(*) FROM batches JOIN outbox ON batch_id = batches.id
                WHERE batches.state = 'sending' AND outbox.state = 'batched' GROUP BY kind
                """)
            let waiting = queued.merging(sending, uniquingKeysWith: +)
            return SampleKind.allCases.reduce(into: [:]) { $0[$1] = waiting[$1.rawValue] }
        }
    }

    /// Returns the number of samples that are queued or being sent.
    public func waitingCount() throws(HealthStoreError) -> Int64 {
        try waiting().values.reduce(0, +)
    }

    /// Returns the number of outbox samples that the backend never accepted, so that a wipe loses
    /// them.
    ///
    /// Rejected samples do not count.
    public func unsentCount() throws(HealthStoreError) -> Int64 {
        try store.snapshot { connection in
            let ended: [OutboxState] = [.accepted, .confirmed, .stored, .unconfirmed, .rejected]
            let names = Set(ended.map(\.rawValue) + [OutboxCounts.discarded, OutboxCounts.erased])
            let packed = try PackedSamples(cipher: cipher, connection: connection).totals()
            return try stateCounts(connection).reduce(packed.values.reduce(0) { $0 + $1.kept }) {
                names.contains($1.key) ? $0 : $0 + $1.value
            }
        }
    }

    /// Selects the rows of `outbox` in a state that a sample has only outside batches; an index
    /// finds them.
    static func isAlone(_ state: OutboxState) -> String {
        "state = '\(state.rawValue)' AND batch_id IS NULL"
    }
}

/// A row of the outbox, as far as it has the sample itself.
struct SampleRow {
    enum Column: String, RowColumn {
        case id, kind, start_s, end_s, blindIndex = "tag", encrypted = "sealed"
    }

    let id: Int64
    let kind: String
    let start: Int64
    let end: Int64
    /// A keyed hash over kind, times and value. Equal values at two times have different blind
    /// indexes, so that the file does not even reveal how often a value occurs.
    let blindIndex: [UInt8]
    let encrypted: [UInt8]

    var identity: RowIdentity { RowIdentity("outbox", kind, start, end, blindIndex) }

    /// Returns the whole sample; `nil` if its encrypted part cannot be decrypted for this row.
    func opened(_ cipher: Cipher) -> Sample? {
        guard let kind = SampleKind(rawValue: kind),
            let plain = cipher.opened(encrypted, for: identity)
        else { return nil }
        return Sample(
            kind: kind, start: Instant(secondsSince1970: start),
            end: Instant(secondsSince1970: end), encryptedForm: plain)
    }
}

extension SampleRow {
    /// Reads a row of `Column`.
    init(_ found: borrowing Row) {
        self.init(
            id: found.integer(Column.id), kind: found.text(Column.kind),
            start: found.integer(Column.start_s), end: found.integer(Column.end_s),
            blindIndex: found.blob(Column.blindIndex), encrypted: found.blob(Column.encrypted))
    }
}

/// Makes the identities of many samples' rows, each as `SampleRow.identity`, in one buffer.
struct SampleIdentities {
    /// The first bytes, by kind.
    private var prefixes: [SampleKind: [UInt8]] = [:]
    /// Those of the last row.
    private(set) var bytes: [UInt8] = []

    mutating func set(
        _ kind: SampleKind, _ start: Int64, _ end: Int64, _ blindIndex: UnsafeRawBufferPointer
    ) {
        let prefix = prefixes[kind] ?? RowIdentity("outbox", kind.rawValue).bytes
        prefixes[kind] = prefix
        bytes.removeAll(keepingCapacity: true)
        bytes.append(contentsOf: prefix)
        for number in [start, end, Int64(blindIndex.count)] {
            bytes.append(littleEndian: number)
        }
        bytes.append(contentsOf: blindIndex)
    }
}

/// Decrypts the samples of many rows one after the other, and reuses its buffers.
struct SampleOpening {
    private let cipher: Cipher
    private var identities = SampleIdentities()
    private var plain: [UInt8] = []

    init(_ cipher: Cipher) { self.cipher = cipher }

    /// Returns what `SampleRow.opened` returns for a row that begins with its columns.
    mutating func opened(_ row: borrowing Row) -> Sample? {
        guard let kind = SampleKind(rawValue: row.text(SampleRow.Column.kind)) else { return nil }
        let start = row.integer(SampleRow.Column.start_s)
        let end = row.integer(SampleRow.Column.end_s)
        row.withBlob(SampleRow.Column.blindIndex.position) {
            identities.set(kind, start, end, $0)
        }
        let isOpen = row.withBlob(SampleRow.Column.encrypted.position) {
            cipher.open($0, for: identities.bytes, into: &plain)
        }
        guard isOpen else { return nil }
        return Sample(
            kind: kind, start: Instant(secondsSince1970: start),
            end: Instant(secondsSince1970: end), encryptedForm: plain)
    }
}

extension HealthStore {
    /// The samples on their way to the backend.
    public var outbox: Outbox { Outbox(store: self) }
}

/// The state of a sample on its way to the backend.
public enum OutboxState: String, CaseIterable, Sendable {
    /// Waits to be sent.
    case queued
    /// Is in a batch that is being sent, or was when its process ended.
    case sending
    /// The backend accepted it and is processing it.
    case accepted
    /// The backend has it and has processed it.
    case confirmed
    /// The backend says that it has it, and confirms nothing more.
    case stored
    /// The backend accepted it and never said what became of it.
    case unconfirmed
    /// The backend refused it or would refuse it by its rules, or a person discarded it here or
    /// erased it at the backend.
    case rejected
    /// Waits for a person after 5 failures, or if it is in doubt or damaged; otherwise for
    /// what its `UploadRefusal` says.
    case setAside

    /// The number of failures after which a sample is set aside.
    public static var failureLimit: Int { 5 }
}

/// The number of samples in each state.
public struct OutboxCounts: Hashable, Sendable {
    /// By the names of the states, which may include names that this version does not know.
    private let counts: [String: Int64]

    /// Creates counts by the names of states; without any, those of an empty outbox.
    init(_ counts: [String: Int64]) { self.counts = counts }

    /// Creates counts of an empty outbox.
    public init() { self.init([:]) }

    /// The number of samples in all states, known or not.
    public var total: Int64 { counts.values.reduce(0, +) }

    /// The number of samples in a state. Discarded and erased ones are not among those that are
    /// `rejected`.
    public subscript(state: OutboxState) -> Int64 { counts[state.rawValue] ?? 0 }

    /// The samples that a person discarded: nothing more becomes of them.
    public var discarded: Int64 { counts[OutboxCounts.discarded] ?? 0 }

    /// The samples that were erased at the backend: they are not sent again.
    public var erased: Int64 { counts[OutboxCounts.erased] ?? 0 }

    static let discarded = "discarded"
    static let erased = "erased"

    /// Samples that are queued, or in a batch that is being sent.
    public var waiting: Int64 { self[.queued] + self[.sending] }

    /// Samples that only a person can move: unconfirmed, rejected or set aside.
    public var forPerson: Int64 { self[.unconfirmed] + self[.rejected] + self[.setAside] }

    /// Whether each sample is counted in exactly one state, or as discarded or erased.
    public var isBalanced: Bool {
        total == OutboxState.allCases.reduce(discarded + erased) { $0 + self[$1] }
    }
}

extension OutboxCounts: CustomStringConvertible {
    /// The sum as a line for people.
    public var description: String {
        let parts = [
            (self[.confirmed], "confirmed"), (self[.stored], "stored"),
            (self[.accepted], "accepted"), (self[.unconfirmed], "unconfirmed"),
            (self[.rejected], "rejected"), (discarded, "discarded"), (erased, "erased"),
            (self[.setAside], "set aside"), (waiting, "waiting"),
        ].filter { $0.0 > 0 }
        let sum = parts.map { "\($0.0) \($0.1)" }.joined(separator: " + ")
        return counted(total, "samples") + (sum.isEmpty ? "" : " = \(sum)")
    }

    /// What is left to do, in one sentence: `all sent; 1 needs your decision`.
    public var headline: String {
        let decisions =
            forPerson > 0
            ? "; \(forPerson) \(forPerson == 1 ? "needs" : "need") your decision" : ""
        let processing = self[.accepted] > 0 ? "; the backend processes \(self[.accepted])" : ""
        let sent =
            waiting == 0 ? "all sent" : "\(waiting) \(waiting == 1 ? "waits" : "wait") to be sent"
        return total == 0 ? "nothing to send" : sent + processing + decisions
    }
}

/// A batch that is being sent, as it is stored. Each send has the same samples, order and
/// timestamp, so that the request is the same byte for byte.
public struct OutboxBatch: Sendable, PrivateValue {
    public let id: Int64
    /// When the batch was made.
    public let clientTimestamp: Instant
    /// The endpoint to which it is sent, each time.
    public let route: UploadRoute
    /// The number of times that it was taken up for sending, including this time.
    public let attempts: Int
    /// The number of earlier sends that may have arrived; 0 if the backend has always deduplicated
    /// it.
    public let possibleSends: Int
    /// The samples in the order in which they are sent.
    public let samples: [Sample]
    /// Their rows, in the same order.
    let rows: [Int64]
    /// The attempt that sends it. Together with `attempts` it identifies this send.
    let owner: Int64
    /// Whether the backend said last of one of them that it could not process it.
    let hasFailedProcessing: Bool
    /// Whether one of them may have arrived by a send of another batch.
    let isInDoubt: Bool
    /// The entry that counts its bytes, on a metered connection.
    var meteredEntry: Int64?
}

/// A batch that the backend took as a whole.
public struct TakenBatch: Sendable {
    public let batch: OutboxBatch
    /// The backend's id of the upload; `nil` if it named none.
    public let processingID: String?
    /// Whether the answer proves that the samples are stored.
    public let isStored: Bool

    /// Creates the answer to a batch.
    public init(_ batch: OutboxBatch, processingID: String?, isStored: Bool = false) {
        (self.batch, self.processingID, self.isStored) = (batch, processingID, isStored)
    }
}

/// The numbers of samples that were kept back, by reason and kind.
public typealias RefusalCounts = [UploadRefusal: [SampleKind: Int64]]

/// The result of taking the next batches out of the outbox.
public struct OutboxDraw: Sendable {
    /// The batches to send; empty if nothing is to be sent now.
    public var batches: [OutboxBatch] = []
    /// How long to wait, if samples are waiting and the requests of the hour are used up.
    public var wait: Duration?
    /// How long until the waiting samples may fit the metered budget, at most an hour; `nil` if the
    /// budget holds nothing back.
    public var meteredWait: Duration?
    /// The number of samples in batches that other living attempts are sending. Counting stops at
    /// the first batch that this attempt can send.
    public var sentElsewhere: Int64 = 0
    /// The samples that were kept back on the way, with the number of each.
    public var refused: RefusalCounts = [:]
    /// What settling each of the former batches has changed.
    public var settlements: [Settlement] = []
    /// Whether a sample waits until a former value of it, which is being sent, has arrived.
    var isFollowing = false
}

/// The results of putting samples into the outbox.
public struct EnqueueCounts: Hashable, Sendable {
    /// New measurements.
    public var queued: Int64 = 0
    /// Measurements that were in the outbox already, in whatever state.
    public var duplicates: Int64 = 0
    /// Measurements that start before the first wanted instant.
    public var beforeSince: Int64 = 0
    /// New days and nights.
    public var metricsQueued: Int64 = 0
    /// Days and nights that were in the outbox with the same value, or with one that is true as of
    /// a later instant.
    public var metricsKnown: Int64 = 0
    /// Days and nights that took the place of a former value that was not sent.
    public var replaced: Int64 = 0
    /// Days and nights that follow a former value that was sent, or in doubt.
    public var corrected: Int64 = 0
    /// Days that were sent or in doubt in another time zone, and stay as they are.
    public var keptAsSent: Int64 = 0
    /// Days and nights that start before the first wanted instant.
    public var metricsBeforeSince: Int64 = 0
    /// Days and nights that were refused before they were queued.
    public var metricsRefused: Int64 = 0

    /// Creates empty counts.
    public init() {}

    /// The samples whose value is new in the outbox.
    public var added: Int64 { queued + metricsQueued + replaced + corrected }

    /// The days and nights that came in.
    public var metrics: Int64 {
        metricsQueued + metricsKnown + replaced + corrected + keptAsSent + metricsBeforeSince
            + metricsRefused
    }

    /// Adds each count to its counterpart.
    public static func += (counts: inout EnqueueCounts, more: EnqueueCounts) {
        let names: [WritableKeyPath<EnqueueCounts, Int64>] = [
            \.queued, \.duplicates, \.beforeSince, \.metricsQueued, \.metricsKnown, \.replaced,
            \.corrected, \.keptAsSent, \.metricsBeforeSince, \.metricsRefused,
        ]
        for name in names { counts[keyPath: name] += more[keyPath: name] }
    }

    /// Counts as new what a first reading of the same source queued and this one found in the outbox.
    ///
    /// - Returns: how many measurements were counted as known the first time, or only because of it.
    package mutating func countAsNew(_ first: EnqueueCounts) -> Int64 {
        let queued = min(first.queued, duplicates)
        self.queued += queued
        duplicates -= queued
        return first.duplicates + queued
    }
}

/// How many samples of a batch the backend's answer changed. All counts are 0 if another attempt
/// has taken over the batch or settled it.
public struct Settlement: Hashable, Sendable {
    /// Samples that the backend accepted, with or without a processing to ask about.
    public var accepted: Int64 = 0
    /// Samples that are confirmed because the backend already had them.
    public var known: Int64 = 0
    public var rejected: Int64 = 0
    /// Samples that are back in the queue because the backend has them and could not process them.
    public var requeued: Int64 = 0
    /// Samples that are set aside for the same reason.
    public var setAside: Int64 = 0
    /// Samples of the batch that the backend may have stored more than once.
    public var doubled: Int64 = 0
    /// The fewest failures of the samples that are back in the queue; `nil` if there are none.
    public var failures: Int64?
}

/// An upload that the backend accepted and has not finished.
public struct OpenUpload: Hashable, Sendable {
    /// The id of the batch.
    public let id: Int64
    /// The backend's id of the upload.
    public let processingID: String
    public let acceptedAt: Instant
    /// The endpoint to which it was sent, and which is asked about it.
    public let route: UploadRoute
    /// The number of its samples that share its state.
    public let sampleCount: Int64
    /// Whether its samples count as unconfirmed.
    public let isGivenUp: Bool
}
