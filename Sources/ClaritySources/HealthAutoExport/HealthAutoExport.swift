public import ClarityJobs
public import ClarityScheduler
import JSON

/// A file of the app Health Auto Export: JSON with metrics, each with its points.
///
/// A file has at most 64 MiB and is read into memory; one point at a time becomes a value. What it
/// has beside metrics (workouts, states of mind, medications, symptoms and the like) is counted by
/// its name.
public struct HealthAutoExport: Sendable {
    /// The most bytes of a file.
    public static let largestFile = 64 << 20

    private let path: String
    private let now: Instant
    private let rules: FoldingRules

    /// Creates a reader of a file; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - now: The instant after which nothing can have happened.
    ///   - rules: The time zone of dates without an offset, and how nights are made from stages.
    public init(path: String, now: Instant, rules: FoldingRules) {
        self.path = path
        self.now = now
        self.rules = rules
    }

    /// Passes on each point that is a sample, and returns the report of all points.
    ///
    /// A text that breaks off is not an error: everything read before counts, and
    /// `SourceReport.brokeAt` says where it broke off.
    ///
    /// - Throws: `SourceError` if there is nothing to read; the errors of `progress` and `each`.
    public func read(
        progress: ((SourceProgress) throws -> Void)? = nil,
        _ each: (Sample, SampleNature) throws -> Void
    ) throws -> SourceReport {
        let file = try RegularFile(path: path)
        let bytes = try file.bytes(atMost: HealthAutoExport.largestFile)
        guard HealthAutoExport.isOne(bytes.prefix(SourceSignature.length)) else {
            throw SourceError.notAnAutoExport(path: path)
        }
        var reading = AutoExportReading(
            bytes, now: now, writtenAt: file.writtenAt, rules: rules, progress: progress)
        return try reading.run(each)
    }

    /// Returns `path` itself or, if it is a folder, its files whose names end in `.json`, in the
    /// order of their names. Names that begin with a dot are left out.
    static func files(at path: String) throws(SourceError) -> [String] {
        let folder: OpenFolder
        do throws(SourceError) {
            folder = try OpenFolder(path: path)
        } catch .notAFolder {
            return [path]
        }
        let names = try folder.names { $0.lowercased().hasSuffix(".json") && !$0.hasPrefix(".") }
        return names.map { "\(path)/\($0)" }
    }

    /// Whether a text that begins with `head` is from this app: an object with an object `data`,
    /// which is not always its first member.
    static func isOne(_ head: some Sequence<UInt8>) -> Bool {
        var cursor = JSONParser(Array(head))
        do throws(JSONFault) {
            try cursor.enter("{")
            while let name = try cursor.nextName() {
                if name == "data", cursor.next == UInt8(ascii: "{") { return true }
                try cursor.skip()
            }
        } catch {
            // Another kind of text, or the end of `head`.
        }
        return false
    }
}
