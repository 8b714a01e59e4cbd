public import ClarityJobs
public import ClarityScheduler
import JSON

/// A file that the app Health Auto Export writes: JSON with metrics, each with its points.
///
/// A file has at most 64 MiB, and is read into memory; of its contents one point at a time becomes a
/// value. What it has beside metrics (workouts, states of mind, medications, symptoms and the
/// like) is counted by its name.
public struct HealthAutoExport: Sendable {
    /// The most bytes of a file.
    public static let largestFile = 64 << 20

    private let path: String
    private let now: Instant
    private let rules: FoldingRules

    /// Names a file; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - now: The instant after which nothing can have happened.
    ///   - rules: On whose clock dates without an offset are, and how nights are made of stages.
    public init(path: String, now: Instant, rules: FoldingRules) {
        self.path = path
        self.now = now
        self.rules = rules
    }

    /// Hands over each point that is a sample and gives the account of all of them.
    ///
    /// A text that breaks off is no error: what was read before stands, and `SourceReport.brokeAt`
    /// says where it broke.
    ///
    /// - Throws: `SourceError` when there is nothing to read; what `progress` or `each` throws.
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

    /// The file at `path` itself or, in the order of their names, the files of that folder whose name
    /// ends in `.json`; names that begin with a dot do not count.
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

    /// Whether a text that begins so is one of this app: an object with an object `data`, which is
    /// not always its first member.
    static func isOne(_ head: some Sequence<UInt8>) -> Bool {
        var cursor = JSONCursor(Array(head))
        do throws(JSONFault) {
            try cursor.enter("{")
            while let name = try cursor.nextName() {
                if name == "data", cursor.next == UInt8(ascii: "{") { return true }
                try cursor.skip()
            }
        } catch {
            // Another text, or the end of what is looked at.
        }
        return false
    }
}
