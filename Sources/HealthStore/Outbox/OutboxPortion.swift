import HealthModel
import ClarityScheduler

/// Samples with their tags and encrypted values, ready to be written into the outbox.
///
/// `Outbox.prepare` makes a portion and `commit` writes it, so that two threads can do the two
/// at the same time.
public struct OutboxPortion: Sendable {
    /// The columns of a sample; its encrypted value is in `bytes`.
    struct Row: Sendable {
        let kind: SampleKind
        let start: Int64
        let end: Int64
        /// The bytes of the tag, in memory order.
        let tag: UInt64
        /// The range of the encrypted value in `bytes`.
        var sealed = 0..<0
        /// Whether it may be one of the packed samples that are damaged.
        var isDoubtful = false
    }

    /// An aggregate: its row, and what decides whether it replaces another.
    struct Aggregate: Sendable {
        var row: Row
        let source: String?
        /// As in `Sample`.
        let isOfAllSources: Bool
        /// The instant as of which it is true, in seconds since 1970.
        let asOf: Int64
    }

    /// The measurements that were not known, in the order in which they came.
    var rows: [Row] = []
    /// The days, nights and other aggregates, known or not, in the order in which they came.
    var aggregates: [Aggregate] = []
    /// The encrypted values.
    var bytes: [UInt8] = []
    /// `PackedLookup.version` when the measurements were compared with what is packed.
    var packedVersion: Int64 = 0
    /// The number of measurements that were known.
    var known: Int64 = 0
    /// The number of all samples that came, by kind, for the audit log.
    var read: [SampleKind: Int64] = [:]

    /// Tags and encrypts aggregates.
    ///
    /// - Parameter first: the index of the first unused nonce in `nonces`.
    mutating func append(
        _ more: [(sample: Sample, asOf: Instant)], _ sealing: inout PortionSealing,
        _ nonces: [UInt8], from first: Int
    ) {
        for (index, (sample, asOf)) in more.enumerated() {
            var row = sealing.row(sample)
            sealing.seal(sample, for: &row, nonces, first + index, onto: &bytes)
            aggregates.append(
                Aggregate(
                    row: row, source: sample.source, isOfAllSources: sample.isOfAllSources,
                    asOf: asOf.secondsSince1970))
            read[sample.kind, default: 0] += 1
        }
    }
}

/// Tags and encrypts the samples of a portion, in buffers that it reuses.
struct PortionSealing {
    private let sealer: Sealer
    /// The first bytes of a row's identity, by kind.
    private var prefixes: [SampleKind: [UInt8]] = [:]
    private var identity: [UInt8] = []

    init(_ sealer: Sealer) { self.sealer = sealer }

    /// Returns the columns of a sample that are not encrypted.
    func row(_ sample: Sample) -> OutboxPortion.Row {
        OutboxPortion.Row(
            kind: sample.kind, start: sample.start.secondsSince1970,
            end: sample.end.secondsSince1970, tag: sealer.shortTag(sample.identity))
    }

    /// Encrypts a sample for its row, with a nonce that is used for nothing else.
    mutating func seal(
        _ sample: Sample, for row: inout OutboxPortion.Row, _ nonces: [UInt8], _ nonce: Int,
        onto bytes: inout [UInt8]
    ) {
        identify(row)
        let start = bytes.count
        let plain = sample.sealedForm
        sealer.seal(
            plain, atLeast: Padding.floor(of: plain, in: "outbox"), for: identity, nonces, nonce,
            onto: &bytes)
        row.sealed = start..<bytes.count
    }

    /// Writes the bytes of `SampleRow.identity` into `identity`.
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
