public import ClarityScheduler
@preconcurrency import Glibc
import Database

/// Identifies the state of a file without reading the file.
///
/// It consists of device, inode, size, and both times to the nanosecond. Each write moves the
/// change time, which no program can set.
public struct SourceStamp: Hashable, Sendable {
    /// The text whose keyed blind index is stored. It does not contain the reader, so that a file
    /// does not look different to a new version of the reader.
    private let state: String
    /// The reader of the file, with its version.
    public let reader: String
    /// The size of the file in bytes.
    public let bytes: Int64
    /// Whether any further write must change the stamp. It is `false` for a file that was changed
    /// within the last 2 s, when a second write could fall on the same tick of the file system's
    /// clock.
    public private(set) var isSettled: Bool

    /// The text to store. A state in doubt is marked as such, and never equals a settled one.
    var text: String { isSettled ? state : "\(state) in doubt" }

    /// The same state, marked as in doubt.
    public var inDoubt: SourceStamp {
        var stamp = self
        stamp.isSettled = false
        return stamp
    }

    /// Reads the stamp of the regular file at `path`; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - folder: the descriptor of the folder in which `path` is a name that is no link; without
    ///     one, links are followed.
    ///   - reader: what else decides what a reading finds, such as the version of the reader.
    public init?(path: String, in folder: Int32? = nil, reader: String, at now: Instant) {
        var status = stat()
        let flags = folder == nil ? 0 : AT_SYMLINK_NOFOLLOW
        guard fstatat(folder ?? AT_FDCWD, path, &status, flags) == 0,
            status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        let changedAt = Instant(
            millisecondsSince1970: Int64(status.st_ctim.tv_sec) * 1000
                + Int64(status.st_ctim.tv_nsec) / 1_000_000)
        isSettled = changedAt + .seconds(2) <= now
        self.reader = reader
        bytes = Int64(status.st_size)
        state = """
            \(status.st_dev) \(status.st_ino) \(status.st_size) \
            \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec) \
            \(status.st_ctim.tv_sec).\(status.st_ctim.tv_nsec)
            """
    }
}

// The files that were read to their end, so that an unchanged file is not read again.

extension Outbox {
    /// Returns when the file was read in exactly this state and by the same reader; `nil` if it
    /// must be read.
    public func wasRead(
        _ path: String, _ stamp: SourceStamp
    ) throws(HealthStoreError) -> Instant? {
        guard let last = try reading(of: path, stamp.text), last.reader == stamp.reader else {
            return nil
        }
        return last.readAt
    }

    /// Returns what is known about the last reading of the file; `nil` if the file was never read
    /// to its end, if only an earlier version read it, or if the note is damaged.
    public func lastReading(of path: String) throws(HealthStoreError) -> LastReading? {
        try reading(of: path, nil)
    }

    /// - Parameter stamp: the text that the stored stamp must have; `nil` for any.
    private func reading(
        of path: String, _ stamp: String?
    ) throws(HealthStoreError) -> LastReading? {
        try store.access { connection in
            let blindIndex = cipher.blindIndex(of: path, in: "sources")
            let found = try connection.first(
                """
                SELECT sealed, read_at_ms FROM sources
                WHERE tag = ?1 AND stamp = coalesce(?2, stamp) AND sealed IS NOT NULL
                """, .blob(blindIndex), stamp.map { .text(cipher.stampIndex($0)) } ?? .null
            ) { ($0.blob(0), $0.instant(1)) }
            guard let (encrypted, readAt) = found,
                let form = cipher.opened(encrypted, for: .source(blindIndex))
            else { return nil }
            return LastReading(encryptedForm: form, readAt: readAt)
        }
    }

    /// Returns the last reading of any file with the same digest by the same reader; `nil` if there
    /// is none.
    package func lastReading(
        like digest: UInt128, by reader: String
    ) throws(HealthStoreError) -> LastReading? {
        try store.access { connection in
            var last: LastReading?
            try connection.forEach(
                """
                SELECT tag, sealed, read_at_ms FROM sources WHERE sealed IS NOT NULL
                ORDER BY read_at_ms
                """
            ) { row in
                guard let form = cipher.opened(row.blob(1), for: .source(row.blob(0))),
                    let found = LastReading(encryptedForm: form, readAt: row.instant(2)),
                    found.digest == digest, found.reader == reader
                else { return }
                last = found
            }
            return last
        }
    }

    /// Returns when a source, one file or a set of files, was last read to its end, or `nil`.
    public func lastSourceReading() throws(HealthStoreError) -> Instant? {
        try store.access { connection in
            try lastSourceReading(connection)
        }
    }

    func lastSourceReading(_ connection: Connection) throws -> Instant? {
        // Files read by an earlier version have only a row in `sources`.
        try connection.instant(
            """
            SELECT max(at_ms) FROM (SELECT read_at_ms AS at_ms FROM sources
                UNION ALL SELECT finished_at_ms FROM readings WHERE state = 'ended') AS times
            """)
    }

    /// Records that the file was read to its end and everything in it is in the outbox, or that it
    /// has not changed since then.
    ///
    /// - Parameter stamp: the stamp that the file had both before and after the reading.
    public func noteRead(
        _ path: String, _ stamp: SourceStamp, _ reading: LastReading
    ) throws(HealthStoreError) {
        try store.change { connection in try note(path, stamp, reading, connection) }
    }

    /// Forgets the reading of a file that is gone, so that files of ever new names leave no rows.
    public func forgetReading(of path: String) throws(HealthStoreError) {
        try store.run(
            "DELETE FROM sources WHERE tag = ?",
            .blob(cipher.blindIndex(of: path, in: "sources")))
    }

    /// Records the same within a transaction.
    func note(
        _ path: String, _ stamp: SourceStamp, _ reading: LastReading, _ connection: Connection
    ) throws {
        var reading = reading
        reading.reader = stamp.reader
        let blindIndex = cipher.blindIndex(of: path, in: "sources")
        try connection.run(
            """
            INSERT INTO sources (tag, stamp, read_at_ms, sealed) VALUES (?, ?, ?, ?)
            ON CONFLICT (tag) DO UPDATE SET stamp = excluded.stamp,
                read_at_ms = excluded.read_at_ms, sealed = excluded.sealed
            """, .blob(blindIndex), .text(cipher.stampIndex(stamp.text)),
            .instant(reading.readAt),
            .blob(cipher.encrypt(reading.encryptedForm, for: .source(blindIndex))))
    }
}

extension RowIdentity {
    fileprivate static func source(_ blindIndex: [UInt8]) -> RowIdentity {
        RowIdentity("sources", blindIndex)
    }
}
