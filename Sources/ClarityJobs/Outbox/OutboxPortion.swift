import ClarityScheduler

/// Samples with their tags and sealed values, ready to be written into the outbox.
///
/// Made by `HealthStore.prepare` and written by `commit`, so that the one can be done on a thread
/// beside the other.
public struct OutboxPortion: Sendable {
    /// A sample's columns, and where the sealed ones lie in `bytes`.
    struct Row: Sendable {
        let kind: SampleKind
        let start: Int64
        let end: Int64
        /// The bytes of the tag as they lie in memory.
        let tag: UInt64
        /// The sealed value in `bytes`.
        var sealed = 0..<0
    }

    /// An aggregate: its row, and what decides whether it replaces another.
    struct Aggregate: Sendable {
        var row: Row
        let source: String?
        /// As of when it is true, in seconds since 1970.
        let asOf: Int64
    }

    /// The measurements that were not known, in the order of their coming.
    var rows: [Row] = []
    /// The days, nights and other aggregates, in the order of their coming, known or not.
    var aggregates: [Aggregate] = []
    /// The sealed values.
    var bytes: [UInt8] = []
    /// How many measurements were known.
    var known: Int64 = 0
    /// Everything that came, by kind, for the audit log.
    var read: [SampleKind: Int64] = [:]
}

/// Tags and seals the samples of a portion in buffers that are used again.
struct PortionSealing {
    private let sealer: Sealer
    /// The bytes with which the identity of a row of a kind begins.
    private var prefixes: [SampleKind: [UInt8]] = [:]
    private var identity: [UInt8] = []

    init(_ sealer: Sealer) { self.sealer = sealer }

    /// The columns of a sample that are not sealed.
    func row(_ sample: Sample) -> OutboxPortion.Row {
        OutboxPortion.Row(
            kind: sample.kind, start: sample.start.secondsSince1970,
            end: sample.end.secondsSince1970, tag: sealer.shortTag(sample.identity))
    }

    /// Seals a sample for its row, with a nonce that nothing else was sealed with.
    mutating func seal(
        _ sample: Sample, for row: inout OutboxPortion.Row, _ nonces: [UInt8], _ nonce: Int,
        onto bytes: inout [UInt8]
    ) {
        identify(row)
        let place = bytes.count
        let plain = sample.sealedForm
        sealer.seal(
            plain, atLeast: Padding.floor(of: plain, in: "outbox"), for: identity, nonces, nonce,
            onto: &bytes)
        row.sealed = place..<bytes.count
    }

    /// Puts the bytes of `SampleRow.identity` into `identity`.
    private mutating func identify(_ row: OutboxPortion.Row) {
        if prefixes[row.kind] == nil {
            var prefix = RowIdentity("outbox")
            prefix.append(row.kind.rawValue)
            prefixes[row.kind] = prefix.bytes
        }
        identity.removeAll(keepingCapacity: true)
        if let prefix = prefixes[row.kind] { identity.append(contentsOf: prefix) }
        identity.append(littleEndian: row.start)
        identity.append(littleEndian: row.end)
        identity.append(littleEndian: Int64(8))
        withUnsafeBytes(of: row.tag) { identity.append(contentsOf: $0) }
    }
}
