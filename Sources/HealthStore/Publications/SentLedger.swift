public import ClarityScheduler
import Platform

/// A bundle that was sent and whose answers are not in the ledger yet.
public struct SentBundle: Hashable, Sendable {
    public struct Entry: Hashable, Sendable {
        /// The index of its part's name in `parts`.
        public var part: Int
        public var id: FHIRID
        public var content: UInt64

        public init(part: Int, id: FHIRID, content: UInt64) {
            (self.part, self.id, self.content) = (part, id, content)
        }
    }

    public var parts: [String] = []
    public var entries: [Entry] = []

    public init() {}
}

/// How many resources of a type a server has, and how many records of the archive they are made of.
public struct SentSums: Hashable, Sendable {
    public var confirmed: Int64 = 0
    public var refused: Int64 = 0
    public var withdrawn: Int64 = 0
    public var erased: Int64 = 0
    /// The records in parts of which the server has answered everything.
    public var records: Int64 = 0

    public init() {}

    /// Counts what is known of a part.
    public init(_ sent: SentResources) {
        confirmed = Int64(sent.confirmed.count)
        refused = Int64(sent.refused.count)
        withdrawn = Int64(sent.withdrawn.count)
        erased = Int64(sent.erased.count)
        records = sent.records
    }

    public static func += (sums: inout SentSums, more: SentSums) {
        for member in members { sums[keyPath: member] += more[keyPath: member] }
    }

    public static func -= (sums: inout SentSums, less: SentSums) {
        for member in members { sums[keyPath: member] -= less[keyPath: member] }
    }

    fileprivate static var members: [WritableKeyPath<SentSums, Int64>] {
        [\.confirmed, \.refused, \.withdrawn, \.erased, \.records]
    }
}

/// What a FHIR server has of what a job sends to it: of each part the ids, and each bundle whose
/// answers are not written down yet.
///
/// Nothing is ever sent that is not here first, so that after a kill it is looked up.
public struct SentLedger: Sendable {
    private static let bundlePrefix = "b/"
    private static let partPrefix = "p/"
    private static let sumsName = "s"

    private let publications: Publications
    private let job: JobID
    /// What tells the server from others of the same job.
    private let receiver: String

    public init(_ store: HealthStore, of job: JobID, at receiver: String) {
        publications = store.publications
        (self.job, self.receiver) = (job, receiver)
    }

    /// Returns the digests of the parts of which the server has answered everything, by name.
    public func done() throws(HealthStoreError) -> [String: UInt64] {
        try publications.confirmed(by: job, at: receiver)
    }

    public func keep(done: [String: UInt64]) throws(HealthStoreError) {
        try publications.confirm(done, by: job, at: receiver)
    }

    public func sent(of part: String) throws(HealthStoreError) -> SentResources {
        try read(Self.partPrefix + part).flatMap { reader in
            var reader = reader
            return SentResources(&reader)
        } ?? SentResources()
    }

    /// Returns the names of all parts of which something was sent.
    public func parts() throws(HealthStoreError) -> [String] {
        try publications.names(from: Self.partPrefix, of: job).map {
            String($0.dropFirst(Self.partPrefix.count))
        }
    }

    /// Returns the sums by type.
    public func sums() throws(HealthStoreError) -> [String: SentSums] {
        guard var reader = try read(Self.sumsName) else { return [:] }
        var sums: [String: SentSums] = [:]
        while !reader.isAtEnd {
            var one = SentSums()
            guard let type = reader.field() else { return [:] }
            for member in SentSums.members {
                guard let number = reader.number(UInt64.self) else { return [:] }
                one[keyPath: member] = Int64(bitPattern: number)
            }
            sums[type] = one
        }
        return sums
    }

    /// Returns the bundles whose answers are not written down, by their numbers.
    public func openBundles() throws(HealthStoreError) -> [Int: SentBundle] {
        var bundles: [Int: SentBundle] = [:]
        for name in try publications.names(from: Self.bundlePrefix, of: job) {
            guard let number = Int(name.dropFirst(Self.bundlePrefix.count)),
                var reader = try read(name)
            else { continue }
            bundles[number] = SentBundle(&reader)
        }
        return bundles
    }

    /// Writes down what is about to be sent, under numbers that begin with `first`.
    public func keep(_ bundles: [SentBundle], from first: Int) throws(HealthStoreError) {
        let rows = bundles.enumerated().map { index, bundle in
            row(Self.bundlePrefix + String(first + index), bundle.append)
        }
        try publications.keep(rows, of: job)
    }

    /// Writes down what became of some parts, and that these bundles are answered, all or nothing.
    public func settle(
        _ parts: [(name: String, sent: SentResources)], _ sums: [String: SentSums],
        answered bundles: some Sequence<Int>
    ) throws(HealthStoreError) {
        var rows = parts.map { name, sent in row(Self.partPrefix + name, sent.append) }
        rows.append(
            row(Self.sumsName) { plain in
                for (type, sums) in sums.sorted(by: { $0.key < $1.key }) {
                    plain.append(field: type)
                    for member in SentSums.members {
                        plain.append(littleEndian: UInt64(bitPattern: sums[keyPath: member]))
                    }
                }
            })
        try publications.keep(
            rows, removing: bundles.map { Self.bundlePrefix + String($0) }, of: job)
    }

    // MARK: Rows

    private func row(
        _ name: String, _ append: (inout [UInt8]) -> Void
    ) -> (name: String, plain: [UInt8]) {
        var plain: [UInt8] = []
        plain.append(field: receiver)
        append(&plain)
        return (name, plain)
    }

    /// Returns what a row says after the receiver; `nil` for none, or one of another receiver.
    private func read(_ name: String) throws(HealthStoreError) -> ByteReader? {
        try publications.part(name, of: job).flatMap { plain in
            var reader = ByteReader(plain)
            return reader.field() == receiver ? reader : nil
        }
    }
}

extension SentBundle {
    fileprivate func append(to plain: inout [UInt8]) {
        plain.append(littleEndian: UInt64(parts.count))
        for part in parts { plain.append(field: part) }
        plain.append(littleEndian: UInt64(entries.count))
        for entry in entries {
            plain.append(littleEndian: UInt32(entry.part))
            plain.append(entry.id)
            plain.append(littleEndian: entry.content)
        }
    }

    fileprivate init(_ reader: inout ByteReader) {
        // A damaged row says what it can: what is not looked up is sent again under its id.
        _ = reader.list { reader in
            reader.field().map { parts.append($0) } != nil
        }
        _ = reader.list { reader in
            guard let part = reader.number(UInt32.self), part < parts.count,
                let id = reader.resourceID(), let content = reader.number(UInt64.self)
            else { return false }
            entries.append(Entry(part: Int(part), id: id, content: content))
            return true
        }
    }
}
