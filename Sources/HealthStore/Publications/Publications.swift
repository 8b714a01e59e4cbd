public import ClarityScheduler
import Platform
import Database

/// What receivers have confirmed of the days and nights that jobs publish to them.
///
/// Of each job there is a digest of each part that its receiver confirmed, by the part's name. They
/// are encrypted, because anybody could test a guess of a value with its digest.
public struct Publications: Sendable {
    let store: HealthStore

    /// Returns the digests of the parts that a job's receiver confirmed, by name; none if the job
    /// had another receiver.
    public func confirmed(
        by job: JobID, at receiver: String
    ) throws(HealthStoreError) -> [String: UInt64] {
        try part("", of: job).flatMap { Self.parts(in: $0, of: receiver) } ?? [:]
    }

    /// Returns a part of a job's ledger; `nil` if there is none. A damaged one counts as none: the
    /// receiver gets the same again.
    func part(_ name: String, of job: JobID) throws(HealthStoreError) -> [UInt8]? {
        try store.access { connection in
            try connection.blob(
                "SELECT sealed FROM publications WHERE job = ? AND part = ?", .text(job.rawValue),
                .text(name)
            ).flatMap { store.cipher.opened($0, for: .publication(job, name)) }
        }
    }

    /// Replaces parts of a job's ledger and removes others, all or nothing.
    func keep(
        _ parts: [(name: String, plain: [UInt8])], removing former: [String] = [], of job: JobID
    ) throws(HealthStoreError) {
        let rows = parts.map { name, plain in
            (name: name, sealed: store.cipher.encrypt(plain, for: .publication(job, name)))
        }
        try store.change { connection in
            for row in rows {
                try connection.run(
                    """
                    INSERT INTO publications (job, part, sealed) VALUES (?, ?, ?)
                    ON CONFLICT (job, part) DO UPDATE SET sealed = excluded.sealed
                    """, .text(job.rawValue), .text(row.name), .blob(row.sealed))
            }
            for name in former {
                try connection.run(
                    "DELETE FROM publications WHERE job = ? AND part = ?", .text(job.rawValue),
                    .text(name))
            }
        }
    }

    /// Returns the names of the parts of a job's ledger that begin so.
    func names(from prefix: String, of job: JobID) throws(HealthStoreError) -> [String] {
        try store.access { connection in
            try connection.all(
                "SELECT part FROM publications WHERE job = ? ORDER BY part", .text(job.rawValue)
            ) { $0.text(0) }
        }.filter { $0.hasPrefix(prefix) }
    }

    /// Replaces what a job's receiver has confirmed.
    public func confirm(
        _ parts: [String: UInt64], by job: JobID, at receiver: String
    ) throws(HealthStoreError) {
        var plain: [UInt8] = []
        plain.append(field: receiver)
        for (name, digest) in parts.sorted(by: { $0.key < $1.key }) {
            plain.append(field: name)
            plain.append(littleEndian: digest)
        }
        try keep([("", plain)], of: job)
    }

    private static func parts(in plain: [UInt8], of receiver: String) -> [String: UInt64]? {
        var reader = ByteReader(plain)
        guard reader.field() == receiver else { return nil }
        var parts: [String: UInt64] = [:]
        while !reader.isAtEnd {
            guard let name = reader.field(), let digest = reader.number(UInt64.self) else {
                return nil
            }
            parts[name] = digest
        }
        return parts
    }

    /// Returns the digest of a part.
    public static func digest(_ bytes: [UInt8]) -> UInt64 {
        blake2b(bytes).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Returns the id by which receivers know the person: 16 hex digits, which nobody without the
    /// key can make, and which a change of the master key leaves as they are.
    public func personID(of account: AccountID?) -> String {
        let name = RowIdentity("publications.person", account?.rawValue ?? "")
        var bytes: [UInt8] = []
        bytes.append(littleEndian: store.cipher.firstIndex(name.bytes))
        return hexEncoded(bytes)
    }
}

extension HealthStore {
    /// What receivers have confirmed.
    public var publications: Publications { Publications(store: self) }
}

extension RowIdentity {
    /// Returns the identity of a row of a job.
    fileprivate static func publication(_ job: JobID, _ part: String) -> RowIdentity {
        RowIdentity("publications", label: job.rawValue, job.rawValue, part)
    }
}
