public import ClarityScheduler

/// What a cleanup removes, in the order in which it does.
public enum PrunedKind: String, CaseIterable, Sendable {
    /// The values of confirmed samples; that they were sent stays known.
    case samples
    /// Uploads without a sample: what was in them is pruned, discarded or in others.
    case batches
    /// Metrics that the backend has not listed since.
    case metrics
    /// Insights that the backend has not listed since.
    case insights
    /// Versions that lost against later ones.
    case versions
    /// Analyses that ended, with the requests for their insights.
    case analyses
    /// Entries of the audit log that were uploaded.
    case auditEntries = "audit_entries"
    /// Files that a spool folder is done with.
    case files
}

/// What was removed: how much of each kind, and a digest that no other removal has.
///
/// The digest is a chain over the identities of what was removed, in the order of `PrunedKind` and
/// within each by time: BLAKE2b-256 of the digest so far, the kind and the identity. Neither how many
/// went at once nor when has a part in it, so a rehearsal over the same store has the same.
public struct PruneReceipt: Hashable, Sendable {
    /// What was removed of one kind.
    public struct Part: Hashable, Sendable {
        public var count: Int64 = 0
        /// What it took, without what the file keeps around it.
        public var bytes: Int64 = 0
        public var oldest: Instant?
        public var newest: Instant?
    }

    /// The kinds of which something was removed.
    public private(set) var parts: [PrunedKind: Part] = [:]
    private var chain = blake2b(RowIdentity("clarity-jobs cleanup 1").bytes)

    /// Creates a receipt of nothing.
    public init() {}

    /// The digest, as 64 hex digits.
    public var digest: String { hexEncoded(chain) }

    /// All kinds together.
    public var count: Int64 { parts.values.reduce(0) { $0 + $1.count } }

    /// What was removed of a kind.
    public subscript(kind: PrunedKind) -> Part { parts[kind] ?? Part() }

    /// Adds one thing.
    ///
    /// - Parameters:
    ///   - identity: what tells it from every other of its kind; goes into the digest alone.
    ///   - instant: by which it was old enough.
    public mutating func add(
        _ kind: PrunedKind, identity: String, at instant: Instant, bytes: Int64
    ) {
        var part = self[kind]
        part.count += 1
        part.bytes += bytes
        part.oldest = min(part.oldest ?? instant, instant)
        part.newest = max(part.newest ?? instant, instant)
        parts[kind] = part
        var link = RowIdentity("clarity-jobs cleanup 1")
        link.append(chain)
        link.append(kind.rawValue)
        link.append(identity)
        chain = blake2b(link.bytes)
    }

    /// `samples 3, metrics 1`; empty for nothing.
    public var summary: String {
        PrunedKind.allCases.filter { self[$0].count > 0 }.map { "\($0.rawValue) \(self[$0].count)" }
            .joined(separator: ", ")
    }
}
