public import ClarityScheduler
import Platform

/// What a server has of the records of a type and month, as far as a job sent them. A record is
/// known by the first 8 bytes of its id.
public struct SentRecords: Hashable, Sendable {
    /// Those that the server has.
    public var confirmed: Set<UInt64> = []
    /// Those that it refused for what they say, and would refuse again.
    public var refused: Set<UInt64> = []
    /// Those that were sent since the others were stored, whether the server has them or not.
    public var doubtful: Set<UInt64> = []

    public init() {}

    public func isSettled(_ record: UInt64) -> Bool {
        confirmed.contains(record) || refused.contains(record)
    }
}

extension Publications {
    /// Returns what a job's receiver has of a month; nothing if the job had another receiver.
    public func sent(
        of month: TypeMonth, by job: JobID, to receiver: String
    ) throws(HealthStoreError) -> SentRecords {
        let settled = try part(month.name, of: job).flatMap { Self.lists(in: $0, of: receiver) }
        let doubtful = try part(month.doubtName, of: job).flatMap {
            Self.lists(in: $0, of: receiver)
        }
        var sent = SentRecords()
        if let settled, settled.count == 2 {
            (sent.confirmed, sent.refused) = (settled[0], settled[1])
        }
        if let doubtful, doubtful.count == 1 {
            sent.doubtful = doubtful[0].filter { !sent.isSettled($0) }
        }
        return sent
    }

    /// Stores what was settled of a month, and that nothing else of it was sent.
    public func keep(
        _ sent: SentRecords, of month: TypeMonth, by job: JobID, to receiver: String
    ) throws(HealthStoreError) {
        try keep(Self.bytes([sent.confirmed, sent.refused], receiver), as: month.name, of: job)
        try keepDoubt(sent.doubtful, of: month, by: job, to: receiver)
    }

    /// Stores which records are about to be sent, so that after a kill they are looked up.
    public func keepDoubt(
        _ records: Set<UInt64>, of month: TypeMonth, by job: JobID, to receiver: String
    ) throws(HealthStoreError) {
        try keep(Self.bytes([records], receiver), as: month.doubtName, of: job)
    }

    private static func bytes(_ lists: [Set<UInt64>], _ receiver: String) -> [UInt8] {
        var plain: [UInt8] = []
        plain.append(field: receiver)
        for list in lists {
            plain.append(littleEndian: UInt64(list.count))
            for record in list.sorted() { plain.append(littleEndian: record) }
        }
        return plain
    }

    private static func lists(in plain: [UInt8], of receiver: String) -> [Set<UInt64>]? {
        var reader = ByteReader(plain)
        guard reader.field() == receiver else { return nil }
        var lists: [Set<UInt64>] = []
        while !reader.isAtEnd {
            guard let count = reader.number(UInt64.self), count <= UInt64(plain.count) else {
                return nil
            }
            var list: Set<UInt64> = []
            for _ in 0..<count {
                guard let record = reader.number(UInt64.self) else { return nil }
                list.insert(record)
            }
            lists.append(list)
        }
        return lists
    }
}

extension TypeMonth {
    /// The name of what was settled of it, such as `HKQuantityTypeIdentifierHeartRate 2026-01`.
    public var name: String { "\(type) \(monthName)" }
    fileprivate var doubtName: String { "\(name) in doubt" }
}
