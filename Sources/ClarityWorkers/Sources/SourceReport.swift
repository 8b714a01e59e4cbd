public import ClarityJobs
public import ClarityScheduler

/// What one reading of a source found: counts and places. Names of sources are in `bySource` alone,
/// and values in `stepMinutes`, which shows none as text.
///
/// Every top-level record ends in exactly one count, so that nothing is lost in silence:
/// `recordsRead + nestedTaken == samples + pairedPartners + folded + repeated + Σ unmapped
/// + Σ refused`.
public struct SourceReport: Hashable, Sendable {
    /// The records at the top level of the source.
    public var recordsRead: Int64 = 0
    /// The records inside a correlation that were passed over: the top level repeats them.
    public var nestedSkipped: Int64 = 0
    /// The blood pressure readings inside a correlation that the top level does not repeat, and
    /// that were therefore taken from there.
    public var nestedTaken: Int64 = 0
    /// The samples that were handed over as measurements, by kind.
    public var samplesByKind: [SampleKind: Int64] = [:]
    /// The readings that became part of a sample with another reading: one for each blood pressure.
    public var pairedPartners: Int64 = 0
    /// The records that went into a day or a night.
    public var folded: Int64 = 0
    /// The records for a day that were exact copies of one before them, and count once: most but not
    /// all of those in the file, see `RecentRecords`.
    public var repeated: Int64 = 0
    /// The days and nights that were handed over, by kind.
    public var made: [SampleKind: Int64] = [:]
    /// The days and nights that had not ended when the source was made, or all of them when it broke
    /// off, by kind: a later source has them whole.
    public var unfinished: [SampleKind: Int64] = [:]
    /// Whether the records end when they are read, since the source does not say when it was made: what
    /// is unfinished then would be whole in a later reading of the very same source.
    public var endsNow = false
    /// The nights of which only the time in bed is known, and of which none is made.
    public var nightsWithoutSleep: Int64 = 0
    /// The records at the top level by the name of their source; at most 4,096 names. To be shown to
    /// the person whose they are, and nowhere kept.
    public var bySource: [String: Int64] = [:]
    /// The steps by minute of the last eight days, those that have any.
    public var stepMinutes: [StepDay] = []
    /// The records of days, which are merged with those of other sources; `nil` for none.
    var days: DayRecords?
    /// The records of types that CLARITY has no field for, by HealthKit type.
    public var unmapped: [String: Int64] = [:]
    /// The records that could not be a sample, by reason, such as `bad date`, `in the future`,
    /// `unknown unit` or `blood pressure without its other half`.
    public var refused: [String: Int64] = [:]
    /// When the first of the records that were refused as in the future is no longer: a reading of the
    /// same text from then on finds more.
    public var dueAt: Instant?
    /// What was wrong with the text and was read nevertheless, by name.
    public var malformations: [String: Int64] = [:]
    /// Where each malformation was first met: its byte in the text.
    public var firstOffsets: [String: Int64] = [:]
    /// Where each malformation was met: at most the first eight places, ascending.
    public var offsets: [String: [Int64]] = [:]
    /// The elements of the text by name, such as `Workout`; what no export is known to have counts
    /// as `(other elements)`.
    public var elements: [String: Int64] = [:]
    /// The files that lie beside the text in its archive or folder and are not read, by sort:
    /// `electrocardiograms`, `workout routes`, `clinical records`, `clinical documents`, `others`.
    public var attachments: [String: Int64] = [:]
    /// Where and why reading ended too early; `nil` for a whole source. All that was read before
    /// stands.
    public var brokeAt: SourceBreak?
    /// The bytes of text that were read, uncompressed.
    public var bytesRead: Int64 = 0

    /// Creates an empty report.
    public init() {}

    /// Says that a record is in the future until an instant.
    mutating func note(due instant: Instant) { dueAt = min(dueAt ?? instant, instant) }

    /// The measurements that were handed over.
    public var samples: Int64 { samplesByKind.values.reduce(0, +) }

    /// The records that no count explains; 0, or there is a fault in the reader.
    public var unexplained: Int64 {
        recordsRead + nestedTaken - samples - pairedPartners - folded - repeated
            - unmapped.values.reduce(0, +)
            - refused.values.reduce(0, +)
    }
}

/// The place where a source stopped being readable.
public struct SourceBreak: Hashable, Sendable {
    /// The byte in the uncompressed text at which reading ended.
    public var byteOffset: Int64
    /// Why, as a fragment: `the file ends inside a tag`.
    public var reason: String
    /// Whether the disk did not give the bytes; else they are the source's fault.
    public var isOfDisk: Bool

    /// Creates a break.
    public init(byteOffset: Int64, reason: String, isOfDisk: Bool = false) {
        self.byteOffset = byteOffset
        self.reason = reason
        self.isOfDisk = isOfDisk
    }
}

/// How far a reading has come.
public struct SourceProgress: Hashable, Sendable {
    /// The bytes of text read so far, uncompressed.
    public var bytesRead: Int64
    /// The bytes of the whole text, when the source says so.
    public var bytesTotal: Int64?
    /// The records read so far.
    public var recordsRead: Int64

    /// Creates a progress.
    public init(bytesRead: Int64, bytesTotal: Int64?, recordsRead: Int64 = 0) {
        self.bytesRead = bytesRead
        self.bytesTotal = bytesTotal
        self.recordsRead = recordsRead
    }
}
