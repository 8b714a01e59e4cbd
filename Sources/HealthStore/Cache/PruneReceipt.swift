import Platform
public import ClarityScheduler

/// A kind of data that a cleanup removes; the cases are in the order of removal.
public enum PrunedKind: String, CaseIterable, Sendable {
    /// The values of confirmed and stored samples; the record that they were sent stays.
    case samples
    /// Uploads without samples: those were pruned, discarded or moved to other uploads.
    case batches
    /// Metrics that the backend has not listed for the length of the retention.
    case metrics
    /// Insights that the backend has not listed for the length of the retention.
    case insights
    /// Versions that later ones replaced.
    case versions
    /// Analyses that ended, with their insight requests.
    case analyses
    /// Entries of the audit log that were uploaded.
    case auditEntries = "audit_entries"
    /// Records of the archive, by the person's own rule.
    case records
    /// Files in a spool folder that were read completely.
    case files
}

/// What was removed: how much of each kind, and a digest that is unique to this removal.
///
/// The digest is a chain over the identities of what was removed, in the order of `PrunedKind` and
/// by time within each kind: BLAKE2b-256 of the digest so far, the kind and the identity. The size
/// of the portions and the time of removal do not affect it, so a rehearsal over the same store has
/// the same digest.
public struct PruneReceipt: Hashable, Sendable {
    /// What was removed of one kind.
    public struct Part: Hashable, Sendable {
        public var count: Int64 = 0
        /// The size of the content, without the overhead of the file.
        public var bytes: Int64 = 0
        public var oldest: Instant?
        public var newest: Instant?
    }

    /// The kinds of which something was removed.
    public private(set) var parts: [PrunedKind: Part] = [:]
    private var chain = blake2b(RowIdentity("clarity-jobs cleanup 1").bytes)

    /// Creates an empty receipt.
    public init() {}

    /// The digest, as 64 hex digits.
    public var digest: String { hexEncoded(chain) }

    /// The count over all kinds.
    public var count: Int64 { parts.values.reduce(0) { $0 + $1.count } }

    /// Returns what was removed of a kind.
    public subscript(kind: PrunedKind) -> Part { parts[kind] ?? Part() }

    /// Adds one removed item.
    ///
    /// - Parameters:
    ///   - identity: identifies the item among all of its kind; used only for the digest.
    ///   - instant: the time that made it old enough.
    ///   - count: how many it stands for.
    public mutating func add(
        _ kind: PrunedKind, identity: String, at instant: Instant, bytes: Int64, count: Int64 = 1
    ) {
        var part = self[kind]
        part.count += count
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

    /// A summary such as `samples 3, metrics 1`; empty if nothing was removed.
    public var summary: String {
        PrunedKind.allCases.filter { self[$0].count > 0 }.map { "\($0.rawValue) \(self[$0].count)" }
            .joined(separator: ", ")
    }
}
