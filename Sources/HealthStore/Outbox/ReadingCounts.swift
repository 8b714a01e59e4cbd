public import ClarityScheduler

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
