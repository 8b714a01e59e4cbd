package import HealthStore
package import HealthModel
package import ClarityScheduler
import Platform
import Synchronization

/// A source of samples.
package protocol SampleSource: Sendable {
    /// The source's name for people.
    var name: String { get }
    /// The path, as the job file or a person names it.
    var path: String { get }
    /// The file whose state decides whether reading again finds anything new: the one at `path`, or
    /// the one that is read inside a folder.
    var place: SourcePlace { get }
    /// The reader's name and version: another reader may find something else in the file.
    var reader: String { get }
    /// The earliest start of a wanted sample; `nil` means any.
    var since: Instant? { get }

    /// The name of the source when days are merged: all files of a folder have the same one.
    var entry: String { get }
    /// The name under which the archive marks what it brought, if it has all of its records each
    /// time it is read; all files that may be copies of each other have the same one.
    var archiveName: String? { get }
    /// The time zone of its days; `nil` for a source without days.
    var dayZone: Zone? { get }
    /// Whether its file is deleted once all of it is in the outbox.
    var isDeletedWhenRead: Bool { get }

    /// Makes the fingerprints of its records, and nothing else; returns `nil` if it cannot, or if
    /// it breaks off.
    func lookThrough(_ key: [UInt8], progress: ProgressHandler?) throws -> ArchiveCollector?

    /// Returns the source with a note of what is known, so that it does not bring it again.
    func noting(_ known: KnownMonths) -> any SampleSource

    /// Returns the source with the outbox, in which it looks up what other files brought.
    func asking(_ outbox: Outbox) -> any SampleSource

    /// Passes on each sample and returns the report of all records; throws the errors of `progress`
    /// and `each`.
    func read(
        progress: ProgressHandler?, _ each: (Sample, SampleNature) throws -> Void
    ) throws -> SourceReport
}

extension SampleSource {
    package var name: String { SourceEntry.name(of: entry) }
    package var place: SourcePlace { SourcePlace(path) }
    /// The path of `place`.
    package var file: String { place.path }
    package var entry: String { path }
    package var archiveName: String? { nil }
    package var dayZone: Zone? { nil }
    package var isDeletedWhenRead: Bool { false }

    package func lookThrough(
        _ key: [UInt8], progress: ProgressHandler?
    ) throws -> ArchiveCollector? { nil }

    package func noting(_ known: KnownMonths) -> any SampleSource { self }
    package func asking(_ outbox: Outbox) -> any SampleSource { self }

    /// The reader with its limit `since`. A limit makes it another reader: without a limit, or with
    /// an earlier one, there is more to find.
    var fullReader: String { since.map { "\(reader) since \($0.secondsSince1970)" } ?? reader }

    /// Returns the stamp of its file; `nil` if there is none that may be read.
    func stamp(_ reader: String, at now: Instant) -> SourceStamp? {
        do throws(SourceError) {
            guard let (folder, name) = try place.parent() else {
                return SourceStamp(path: place.path, reader: reader, at: now)
            }
            return SourceStamp(path: name, in: folder.descriptor, reader: reader, at: now)
        } catch {
            return nil
        }
    }
}

// The numbers of the readers below change when they make something else of a file, so that files
// are read again. A kind of sample more, or another name of one, does that by itself.

let kindsDigest: String = {
    let names = SampleKind.allCases.flatMap { kind in
        [kind.rawValue, kind.facts.healthKit.type] + kind.facts.autoExport
    }
    return String(Publications.digest(Array(names.joined(separator: " ").utf8)), radix: 16)
}()

extension AppleHealthExport: SampleSource {
    var archiveName: String? { "apple-health-export" }
    var dayZone: Zone? { rules.zone }
    var reader: String { "apple-health-export 8 \(kindsDigest) \(programVersion) \(rules.text)" }

    func noting(_ known: KnownMonths) -> any SampleSource {
        var source = self
        source.known = known
        return source
    }
}

extension HealthAutoExport: SampleSource {
    var place: SourcePlace { SourcePlace(path, links) }
    var entry: String { folder ?? path }
    var dayZone: Zone? { rules.zone }
    var reader: String { "health-auto-export 6 \(kindsDigest) \(programVersion) \(rules.text)" }

    func asking(_ outbox: Outbox) -> any SampleSource {
        var source = self
        source.knowsInstants = { try outbox.hasInstants(of: $0, in: $1) }
        return source
    }
}

/// A file of samples that a person names. It stays where it is.
final class LooseSamples: SampleSource {
    let path: String
    let since: Instant?
    private let now: Instant
    private let outcome = Mutex<SampleFile.Outcome?>(nil)

    init(path: String, now: Instant, since: Instant?) {
        self.path = path
        self.now = now
        self.since = since
    }

    var reader: String { "samples \(programVersion)" }

    /// The outcome of the last reading.
    var faults: SampleFile.Outcome? { outcome.withLock { $0 } }

    func read(progress: ProgressHandler?, _ each: SampleHandler) throws -> SourceReport {
        let file = try OpenFile(path: path)
        guard !file.isFolder else { throw SourceError.notOneFile(path: path) }
        var reading = SampleFile(now: now, progress: progress)
        let found = try reading.read(
            try RegularFile(file), path: path, isList: try isList(file), each)
        outcome.withLock { $0 = found }
        return found.report
    }

    /// Whether the file is a list: by its name or, if the name does not say, by its first
    /// character.
    private func isList(_ file: OpenFile) throws(SourceError) -> Bool {
        if SpoolFolder.takes(name) { return SpoolFolder.isList(name) }
        return try file.head().first { $0 > 0x20 } == UInt8(ascii: "[")
    }
}

/// A file that waits in a spool folder, as a source.
///
/// After the file is read, it is settled: when its good samples are in the outbox, it is moved
/// away. If this program ends before that, the file is read again, and its samples are already
/// known.
package final class SpoolSource: SampleSource {
    /// The folder, so that no state is stored: the file moves away, and its name may come again.
    package let place: SourcePlace
    private let fileName: String
    private let now: Instant
    private let outcome = Mutex<Reading?>(nil)

    package let name: String
    package let since: Instant?

    private struct Reading {
        var stamp: RegularFile.Stamp
        var outcome: SampleFile.Outcome
    }

    /// Creates a source for a file of a folder.
    init(folder: SourcePlace, folderName: String, fileName: String, now: Instant, since: Instant?) {
        place = folder
        self.fileName = fileName
        self.now = now
        self.since = since
        name = folderName
    }

    package var path: String { "\(place.path)/\(fileName)" }
    package var reader: String { "spool \(programVersion)" }

    package func read(
        progress: ProgressHandler?, _ each: (Sample, SampleNature) throws -> Void
    ) throws -> SourceReport {
        outcome.withLock { $0 = nil }
        let file = try SpoolFolder(place).open(fileName)
        var found: SampleFile.Outcome
        do {
            var reading = SampleFile(now: now, progress: progress)
            found = try reading.read(
                file, path: path, isList: SpoolFolder.isList(fileName), each)
        } catch let error as SourceError {
            guard case .tooLarge(_, let limit) = error else { throw error }
            found = SampleFile.Outcome()
            found.faults = [
                SampleFile.Fault(line: 1, what: "the file has more than \(limit >> 20) MiB")
            ]
            found.faultCount = 1
        }
        outcome.withLock { [found] in $0 = Reading(stamp: file.stamp, outcome: found) }
        return found.report
    }

    /// What happened to a file.
    package enum Outcome {
        case done
        case rejected
        /// It was not read to its end, or the file at its path is no longer the one that was read.
        case waiting
    }

    /// Moves the file away if it was read, and forgets what was found. Call it when the outbox has
    /// the file's samples.
    package func settle() throws(SourceError) -> Outcome {
        guard let reading = outcome.withLock({ $0.take() }) else { return .waiting }
        let faults = reading.outcome.faultCount == 0 ? nil : reading.outcome.reasons
        let isMoved = try SpoolFolder(place).settle(
            fileName, reading.stamp, faults: faults)
        guard isMoved else { return .waiting }
        return faults == nil ? .done : .rejected
    }

    /// Leaves the file where it is, and forgets what was found.
    package func leave() { outcome.withLock { $0 = nil } }
}

extension SampleFile.Outcome {
    /// The text of the file that explains a rejected one.
    var reasons: String {
        var lines = faults.map { "\($0.description.forReport)\n" }.joined()
        if faultCount > faults.count { lines += "and \(faultCount - faults.count) more\n" }
        return lines + "\(report.samples + report.aggregated) good samples were taken\n"
    }
}
