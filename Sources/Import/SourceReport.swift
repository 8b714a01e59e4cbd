package import HealthStore
public import HealthModel
public import ClarityScheduler

/// The counts and positions that one reading of a source found.
///
/// Only `bySource` holds names of sources, and only `stepMinutes` holds values, which it never
/// shows as text.
///
/// Every top-level record ends in exactly one count, so that none is lost silently:
/// `recordsRead + nestedTaken == samples + pairedPartners + aggregated + repeated + Σ unmapped
/// + Σ refused`.
public struct SourceReport: Hashable, Sendable {
    /// The records at the top level of the source.
    public var recordsRead: Int64 = 0
    /// The records inside a correlation that were skipped because the top level repeats them.
    public var nestedSkipped: Int64 = 0
    /// The blood pressure readings that were taken from a correlation because the top level does
    /// not repeat them.
    public var nestedTaken: Int64 = 0
    /// The samples that were passed on as measurements, by kind.
    public var samplesByKind: [SampleKind: Int64] = [:]
    /// The readings that were paired with another one into a sample: one for each blood pressure.
    public var pairedPartners: Int64 = 0
    /// The records that became part of a day or a night.
    public var aggregated: Int64 = 0
    /// The records for a day that were exact copies of another record of their source; only one
    /// counts.
    public var repeated: Int64 = 0
    /// The days and nights that were made, by kind.
    public var made: [SampleKind: Int64] = [:]
    /// The days and nights that had not ended when the source was made, or all of them if it broke
    /// off, by kind. A later source has them complete.
    public var unfinished: [SampleKind: Int64] = [:]
    /// Whether the records end when they are read, because the source does not say when it was
    /// made, or names a time to come. What is unfinished then may be complete at a later reading of
    /// the same source.
    var endsNow = false
    /// The nights of which only the time in bed is known; they are not made.
    public var nightsWithoutSleep: Int64 = 0
    /// The records at the top level by the name of their source; at most 4,096 names. For the
    /// person whose data they are, and never stored.
    public var bySource: [String: Int64] = [:]
    /// The steps by minute of the last eight days; days without steps are left out.
    public var stepMinutes: [StepDay] = []
    /// The records of days, to be merged with those of other sources; `nil` if there are none.
    var days: DayRecords?
    /// The records for the archive; `nil` from a source that has none.
    var records: ArchiveCollector?
    /// The records of types that CLARITY has no field for, by HealthKit type.
    public var unmapped: [String: Int64] = [:]
    /// How many of its records the archive has, and which of them it had not before.
    package var archived = Archive.Kept()
    /// The records that could not become a sample, by reason, such as `bad date`, `in the future`,
    /// `unknown unit` or `blood pressure without its other half`.
    public var refused: [String: Int64] = [:]
    /// The instant from which a reading of the same text finds more: when the first record that was
    /// refused as in the future is due, when the first day or night that ends now is over, or the
    /// export's own date if that lies ahead.
    public var dueAt: Instant?
    /// The faults in the text that did not stop the reading, by name.
    public var malformations: [String: Int64] = [:]
    /// The bytes at which each malformation was found: at most the first eight, ascending.
    public var offsets: [String: [Int64]] = [:]
    /// The elements of the text by name, such as `Workout`. Of names that no export is known to
    /// have, 64 plain ones are told apart; all others are counted as `(other elements)`.
    public var elements: [String: Int64] = [:]
    /// The workouts and other elements that the archive cannot keep, because they have no date or
    /// more than 1 MiB of text, by name; also files beside the text that cannot be kept, and points of
    /// routes without a place or time.
    public var elementsRefused: [String: Int64] = [:]
    /// Why files beside the text are not kept, by their names; the first 100 are named.
    public var filesRefused: [String: String] = [:]
    /// The files beside the text in its archive or folder, by sort:
    /// `electrocardiograms`, `workout routes`, `clinical records`, `clinical documents`, `others`.
    public var attachments: [String: Int64] = [:]
    /// The position and reason of an early end; `nil` for a complete source. Everything read before
    /// that position counts.
    public var brokeAt: SourceBreak?
    /// The bytes of text that were read, uncompressed.
    public var bytesRead: Int64 = 0

    /// Creates an empty report.
    package init() {}

    /// Notes that a record is in the future until `instant`.
    mutating func note(due instant: Instant) { dueAt = min(dueAt ?? instant, instant) }

    /// Counts a sample that is passed on. An aggregate is a record into which another program has
    /// aggregated many readings.
    mutating func count(_ sample: Sample, _ nature: SampleNature) {
        switch nature {
        case .measurement, .knownMeasurement: samplesByKind[sample.kind, default: 0] += 1
        case .aggregate:
            aggregated += 1
            made[sample.kind, default: 0] += 1
        }
    }

    /// The byte in the text at which each malformation was first found.
    var firstOffsets: [String: Int64] { offsets.compactMapValues(\.first) }

    /// The number of measurements that were passed on.
    public var samples: Int64 { samplesByKind.values.reduce(0, +) }

    /// The records that no count explains; if this is not 0, the reader has a fault.
    public var unexplained: Int64 {
        recordsRead + nestedTaken - samples - pairedPartners - aggregated - repeated
            - unmapped.values.reduce(0, +)
            - refused.values.reduce(0, +)
    }
}

/// The position at which a source became unreadable.
public struct SourceBreak: Hashable, Sendable {
    /// The byte in the uncompressed text at which reading ended.
    public var byteOffset: Int64
    /// The reason, as a fragment: `the file ends inside a tag`.
    public var reason: String
    /// Whether the disk failed to deliver the bytes; otherwise the source is at fault.
    public var isOfDisk = false
}

/// The progress of a reading.
public struct SourceProgress: Hashable, Sendable {
    /// The bytes of text read so far, uncompressed.
    public var bytesRead: Int64
    /// The bytes of the whole text, if the source says so.
    public var bytesTotal: Int64?
    /// The records read so far.
    public var recordsRead: Int64 = 0
}

/// The months of an export of which an earlier reading brought everything.
package struct KnownMonths: Sendable {
    /// The key of fingerprints; `nil` if nobody wants any.
    var key: [UInt8]?
    var months: Set<TypeMonth> = []
}

/// Receives a sample from a source, and how it relates to others of the same kind and times.
package typealias SampleHandler = (Sample, SampleNature) throws -> Void

/// Receives the progress of a reading from time to time; an error that it throws ends the reading.
package typealias ProgressHandler = (SourceProgress) throws -> Void

extension [String: Int64] {
    /// Adds to the count of a name. If that is one name more than `limit`, counts it as `other`.
    package mutating func add(
        _ count: Int64 = 1, to name: String, atMost limit: Int, else other: String
    ) {
        let isKnown = self[name] != nil || self.count < limit
        self[isKnown ? name : other, default: 0] += count
    }

    /// The counts with the largest first, then by name.
    package var ranked: [(name: String, count: Int64)] {
        sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) }
    }
}

extension String {
    /// Whether it has the form of a name: at most `length` ASCII letters, digits and underscores.
    /// In a malformed file a name could be anything, and reports are not encrypted.
    package func isPlainName(atMost length: Int = 80) -> Bool {
        utf8.count <= length && utf8.areLettersDigits(or: "_")
    }
}

/// Why a source could not be read at all.
public enum SourceError: Error, Hashable, Sendable {
    /// There is no such file or folder.
    case missing(path: String)
    /// This user is not allowed to read it.
    case noPermission(path: String)
    /// A socket, a device or a pipe.
    case notAFile(path: String)
    /// An empty file, as a phone that runs out of space can make it.
    case empty(path: String)
    /// Neither a zip archive nor the text of an export.
    case notAnExport(path: String)
    /// A zip archive or a folder without an export in it.
    case noExportInside(path: String)
    /// A zip archive or a folder with two exports in it, of these names: nobody knows which one is
    /// meant.
    case severalExports(path: String, [String])
    /// A zip archive that breaks off or is damaged before the export in it.
    case damaged(path: String, reason: String)
    /// A file where a folder should be.
    case notAFolder(path: String)
    /// A folder where one file should be named.
    case notOneFile(path: String)
    /// A symbolic link where none is followed.
    case symbolicLink(path: String)
    /// A file with a second name, which may be in somebody else's folder.
    case hardLink(path: String)
    /// A file that is larger than the limit for its kind.
    case tooLarge(path: String, limit: Int)
    /// Not a file of Health Auto Export.
    case notAnAutoExport(path: String)
    /// A file or folder of no kind that can be recognised by its contents.
    case unknownKind(path: String)
    /// Its days would follow another time zone than the account's.
    case otherTimeZone(path: String, named: String, settled: String)
    /// The system refused to open or read it.
    case unreadable(path: String, reason: String)
}

extension SourceError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .missing(let path): "no file or folder `\(path)`"
        case .noPermission(let path): "no permission to read `\(path)`"
        case .notAFile(let path): "`\(path)` is neither a file nor a folder"
        case .empty(let path): "`\(path)` is empty; export it from the phone again"
        case .notAnExport(let path):
            "`\(path)` is neither a zip archive nor an Apple Health export"
        case .noExportInside(let path):
            "`\(path)` has no Apple Health export in it (an xml file whose root is `HealthData`)"
        case .severalExports(let path, let names):
            "`\(path)` has two Apple Health exports in it, `\(names.joined(separator: "` and `"))`; "
                + "leave the newer one alone there"
        case .notAFolder(let path): "`\(path)` is no folder"
        case .notOneFile(let path): "`\(path)` is a folder; name a file in it"
        case .symbolicLink(let path):
            "`\(path)` is a symbolic link, which could lead to somebody else's data; put what it "
                + "leads to there, or name that path in the job file"
        case .hardLink(let path):
            "`\(path)` has another name (a hard link), so it may be somebody else's; put a copy "
                + "there"
        case .tooLarge(let path, let limit):
            "`\(path)` has more than \(limit >> 20) MiB; split it"
        case .notAnAutoExport(let path): "`\(path)` is no file of Health Auto Export"
        case .unknownKind(let path):
            "`\(path)` is neither an Apple Health export, nor of Health Auto Export, nor of samples"
        case .otherTimeZone(let path, let named, let settled):
            "`\(path)` would be read with the time zone `\(named)`, but the days of this account "
                + "follow `\(settled)`; leave out the time zone, or change it for all days with "
                + "`clarity-jobs import FILE --time-zone \(named) --change-time-zone`"
        case .damaged(let path, let reason): "cannot read the zip archive `\(path)`: \(reason)"
        case .unreadable(let path, let reason): "cannot read `\(path)`: \(reason)"
        }
    }
}
