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

    /// Returns the last reading of any file by the same reader for which `isMeant` is true; `nil` if
    /// there is none.
    package func lastReading(
        by reader: String, where isMeant: (LastReading) -> Bool
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
                    found.reader == reader, isMeant(found)
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

/// What became of the records of one reading, or of several together.
///
/// `read` is the sum of all outcomes of records, and `made` is the sum of all outcomes of days and
/// nights. Both hold for a reading that is open, that was cut short or that has ended.
public struct ReadingCounts: Hashable, Sendable {
    /// A count; the raw value is the name of its column.
    public enum Name: String, CaseIterable, Sendable {
        /// All records.
        case read
        case queued
        /// Samples that were in the outbox already.
        case known
        /// Second halves of a blood pressure.
        case paired
        /// Records that became part of a day or a night.
        case aggregated = "folded"
        /// Exact copies of a record for a day.
        case repeated
        /// Records of a type without a field.
        case unmapped
        case refused
        /// Samples from before the first wanted instant.
        case beforeSince = "before_since"
        /// All days and nights.
        case made
        case madeQueued = "made_queued"
        /// Days and nights that were in the outbox already: with the same value or a later one, or
        /// as the day of another time zone.
        case madeKnown = "made_known"
        /// Days and nights that took the place of a former value that was not sent.
        case madeReplaced = "made_replaced"
        /// Days and nights that followed a former value that was sent, or in doubt.
        case madeCorrected = "made_corrected"
        case madeRefused = "made_refused"
        case madeBeforeSince = "made_before_since"
        /// Rows of the outbox that are older than the ledger.
        case rowsBefore = "rows_before"
        /// Rows that were removed from the outbox.
        case rowsRemoved = "rows_removed"
    }

    /// The counts whose sum is `read`.
    public static let ofRead: [Name] = [
        .queued, .known, .paired, .aggregated, .repeated, .unmapped, .refused, .beforeSince,
    ]
    /// The counts whose sum is `made`.
    public static let ofMade: [Name] = [
        .madeQueued, .madeKnown, .madeReplaced, .madeCorrected, .madeRefused, .madeBeforeSince,
    ]

    /// The counts of what became nothing, which no portion brings.
    static let ofNothing: [Name] = [
        .paired, .aggregated, .repeated, .unmapped, .refused, .beforeSince, .madeRefused,
        .madeBeforeSince,
    ]

    /// The counts of what came into the outbox, took a place in it, or left it.
    static let ofRows: [Name] = [
        .queued, .madeQueued, .madeReplaced, .madeCorrected, .rowsBefore, .rowsRemoved,
    ]

    private var counts: [Name: Int64] = [:]

    /// Creates empty counts.
    public init() {}

    /// Creates the counts of a portion that was put into the outbox; all of it counts as read.
    init(_ counts: EnqueueCounts, removed: Int64) {
        self[.queued] = counts.queued
        self[.known] = counts.duplicates
        self[.read] = counts.queued + counts.duplicates
        self[.madeQueued] = counts.metricsQueued
        self[.madeKnown] = counts.metricsKnown + counts.keptAsSent
        self[.madeReplaced] = counts.replaced
        self[.madeCorrected] = counts.corrected
        self[.made] = sum(ReadingCounts.ofMade)
        self[.rowsRemoved] = removed
    }

    public subscript(name: Name) -> Int64 {
        get { counts[name] ?? 0 }
        set { counts[name] = newValue == 0 ? nil : newValue }
    }

    /// Returns the sum of several counts.
    public func sum(_ names: [Name]) -> Int64 { names.reduce(0) { $0 + self[$1] } }

    /// The number of rows that the outbox has according to these counts.
    public var rows: Int64 {
        sum([.rowsBefore, .queued, .madeQueued, .madeCorrected]) - self[.rowsRemoved]
    }

    /// Whether every record, and every day and night, is counted in exactly one place.
    public var isBalanced: Bool {
        self[.read] == sum(ReadingCounts.ofRead) && self[.made] == sum(ReadingCounts.ofMade)
    }

    /// Adds each count to its counterpart.
    public static func += (counts: inout ReadingCounts, more: ReadingCounts) {
        counts.counts.merge(more.counts, uniquingKeysWith: +)
    }
}

/// The types and reasons of records that became nothing, with the number of each.
public struct ReadingReasons: Hashable, Sendable {
    /// The most names of one sort; all further names are counted together as `others`.
    static let mostNames = 1024
    static let others = "(others)"

    /// The records without a field, by type.
    public var unmapped: [String: Int64] = [:]
    /// The records that could not be a sample, by reason.
    public var refused: [String: Int64] = [:]
    /// The days and nights that could not be a sample, by reason.
    public var madeRefused: [String: Int64] = [:]

    /// Creates empty counts.
    public init() {}

    /// Adds each count to its counterpart.
    public static func += (reasons: inout ReadingReasons, more: ReadingReasons) {
        for sort in ReadingReasons.sorts {
            for (name, count) in more[keyPath: sort].sorted(by: { $0.key < $1.key }) {
                let known = reasons[keyPath: sort]
                let isNamed = known[name] != nil || known.count < ReadingReasons.mostNames
                reasons[keyPath: sort][isNamed ? name : ReadingReasons.others, default: 0] += count
            }
        }
    }

    private static var sorts: [WritableKeyPath<ReadingReasons, [String: Int64]>] {
        [\.unmapped, \.refused, \.madeRefused]
    }

    /// The bytes to encrypt.
    var encryptedForm: [UInt8] {
        var form: [UInt8] = [1]
        for sort in ReadingReasons.sorts {
            form.append(counts: self[keyPath: sort])
        }
        return form
    }

    /// Parses `encryptedForm`; `nil` if the bytes are not in that format.
    init?(encryptedForm: [UInt8]) {
        var form = ByteReader(encryptedForm)
        guard form.number(UInt8.self) == 1 else { return nil }
        for sort in ReadingReasons.sorts {
            guard let counts = form.counts() else { return nil }
            self[keyPath: sort] = counts
        }
    }
}

/// What is stored about the last complete reading of a file.
public struct LastReading: Hashable, Sendable {
    /// When it was read.
    public var readAt: Instant
    /// The reader with its version. Another reader may find something else in the file.
    public var reader: String
    /// The size of the file in bytes.
    public var bytes: Int64
    /// The mark that identifies the file's content; `nil` if it could not be computed.
    public var mark: ContentMark?
    /// What the reading found, by names that this program chooses; never values.
    public var counts: [String: Int64]
    /// When a reading of the same content finds more, because something in it was dated in the
    /// future.
    public var dueAt: Instant?
    /// What tells all that was read from what another reading finds, in any order; `nil` if the
    /// source has none.
    package var digest: UInt128?

    /// Creates a note of a reading.
    public init(
        readAt: Instant, reader: String, bytes: Int64, mark: ContentMark?,
        counts: [String: Int64], dueAt: Instant? = nil
    ) {
        self.dueAt = dueAt
        self.readAt = readAt
        self.reader = reader
        self.bytes = bytes
        self.mark = mark
        self.counts = counts
    }
}

extension LastReading {
    /// The bytes to encrypt: everything but the time, which is a column.
    var encryptedForm: [UInt8] {
        var form: [UInt8] = [1]
        form.append(field: reader)
        form.append(littleEndian: bytes)
        form.append(mark == nil ? 0 : 1)
        if let mark { form += mark.key + mark.code }
        form.append(counts: counts)
        guard dueAt != nil || digest != nil else { return form }
        form.append(littleEndian: dueAt?.millisecondsSince1970 ?? .max)
        if let digest { form.append(littleEndian: digest) }
        return form
    }

    /// Parses `encryptedForm`; `nil` if the bytes are not in that format.
    init?(encryptedForm: [UInt8], readAt: Instant) {
        var form = ByteReader(encryptedForm)
        guard form.number(UInt8.self) == 1, let reader = form.field(),
            let bytes = form.number(Int64.self), let isMarked = form.number(UInt8.self)
        else { return nil }
        var mark: ContentMark?
        if isMarked == 1 {
            guard let key = form.bytes(ContentMark.keyCount),
                let code = form.bytes(ContentMark.codeCount)
            else { return nil }
            mark = ContentMark(key: key, code: code)
        }
        guard let counts = form.counts() else { return nil }
        self.init(
            readAt: readAt, reader: reader, bytes: bytes, mark: mark, counts: counts,
            // Earlier versions wrote it only if there was one, and no digest.
            dueAt: form.number(Int64.self).flatMap {
                $0 == .max ? nil : Instant(millisecondsSince1970: $0)
            })
        digest = form.number(UInt128.self)
    }
}
