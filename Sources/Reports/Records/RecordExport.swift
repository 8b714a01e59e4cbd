public import HealthStore
public import ClarityScheduler
import JSON
import Platform
@preconcurrency import Glibc

/// Writes the records of the archive, in the clear.
public struct RecordExport: Sendable {
    /// A file or table that was written.
    public struct Part: Hashable, Sendable {
        public let type: String
        public let name: String
        /// How many files there are: that one, and others that are numbered from 2.
        public let files: Int
        public let records: Int64
    }

    /// How far an export is.
    public struct Progress: Hashable, Sendable {
        public fileprivate(set) var months = 0
        /// The months of all types.
        public fileprivate(set) var allMonths: Int
        public fileprivate(set) var records: Int64 = 0
    }

    /// What was written, and what could not be.
    public struct Receipt: Hashable, Sendable {
        public internal(set) var path: String
        public fileprivate(set) var parts: [Part] = []
        /// A sentence for each damaged month, which is left out.
        public fileprivate(set) var damaged: [String] = []

        public var records: Int64 { parts.reduce(0) { $0 + $1.records } }
    }

    /// Why nothing more can be written.
    public enum Fault: Error, Sendable {
        /// The folder has something in it already.
        case notEmpty(path: String)
        /// The file is there already.
        case exists(path: String)
        /// The archive has no such type; carries the end of a message about it.
        case unknownType(String, suggestion: String)
        /// Another process writes there.
        case busy(path: String)
        /// Some months are damaged, so the last export stays.
        case damaged(months: Int, path: String)
        /// Whoever wanted the export wants it no longer.
        case stopped
        /// Why SQLite cannot write.
        case database(reason: String, path: String)
        case system(path: String, code: Int32)
        case store(HealthStoreError)
    }

    private let store: HealthStore
    private let format: ExportDataOptions.Format
    private let path: String
    private let patient: FHIRPatient?
    private let grain: FHIRGrain
    private let zone: Zone?
    private let range: Range<Int64>
    private let largestFile: Int

    /// - Parameters:
    ///   - path: an absolute path; nothing may be there, but an empty folder where the format is one.
    ///   - patient: whose records Observations are; `nil` if nobody says so.
    ///   - grain: what an Observation has.
    ///   - zone: the time zone of its days, as of `FHIRContent`.
    ///   - since: the earliest start of a record; `nil` for any.
    ///   - until: the instant before which a record starts; `nil` for any.
    ///   - largestFile: the most bytes of a file of Observations, which a server has to take whole.
    public init(
        _ store: HealthStore, as format: ExportDataOptions.Format, to path: String,
        of patient: FHIRPatient? = nil, by grain: FHIRGrain = .single, in zone: Zone? = nil,
        since: Instant? = nil, until: Instant? = nil, largestFile: Int = 100 << 20
    ) {
        self.store = store
        self.format = format
        self.path = path
        (self.patient, self.grain, self.zone) = (patient, grain, zone)
        self.largestFile = largestFile
        let from = since?.secondsSince1970 ?? .min
        range = from..<max(from, until?.secondsSince1970 ?? .max)
    }

    /// Returns the types that are meant by these names, or all without a name; none of an archive
    /// without records.
    public static func types(
        of store: HealthStore, named names: [String]
    ) throws(Fault) -> [ArchivedType] {
        let all: [ArchivedType]
        do throws(HealthStoreError) {
            all = try store.archive.types()
        } catch {
            throw .store(error)
        }
        guard !names.isEmpty, !all.isEmpty else { return all }
        var chosen: [ArchivedType] = []
        for name in names {
            let found = all.filter { $0.isMeant(by: name) }
            guard !found.isEmpty else {
                throw .unknownType(
                    name, suggestion: didYouMean(name, among: all.map(\.shortName)))
            }
            chosen += found.filter { !chosen.contains($0) }
        }
        return chosen
    }

    /// Writes the types, in their order, and records that in the audit log. A file has its name when
    /// it is whole.
    ///
    /// - Parameter progress: called after each month; what it throws ends the export.
    public func run(
        _ types: [ArchivedType], progress: (Progress) throws(Fault) -> Void
    ) throws(Fault) -> Receipt {
        // Recorded first, so that nothing is given out that is not in the log.
        do throws(HealthStoreError) {
            try store.audit.record(
                .exported, ["months of records": Int64(types.reduce(0) { $0 + $1.months.count })],
                detail: "as \(format.rawValue), by export-data")
        } catch {
            throw .store(error)
        }
        let recipient = Recipient(store: store, patient: patient)
        switch format {
        case .csv:
            var target = try RecordFolder<RecordCSV>(path, recipient)
            return try run(types, &target, progress)
        case .fhir:
            return try writeContent(types, recipient, progress)
        case .sqlite:
            var target = try RecordDatabase(path)
            return try run(types, &target, progress)
        }
    }

    private func run(
        _ types: [ArchivedType], _ target: inout some RecordTarget,
        _ report: (Progress) throws(Fault) -> Void
    ) throws(Fault) -> Receipt {
        var receipt = Receipt(path: path)
        var progress = Progress(allMonths: types.reduce(0) { $0 + $1.months.count })
        for type in types {
            let before = progress.records
            try target.begin(type)
            for number in type.months {
                let month = TypeMonth(type: type.name, month: number)
                let found: (sound: Segment, isDamaged: Bool)
                do throws(HealthStoreError) {
                    found = try store.archive.records(of: month)
                } catch {
                    throw .store(error)
                }
                progress.records += try target.append(found.sound, type, range)
                if found.isDamaged { receipt.damaged.append("\(month.damage) and left out") }
                progress.months += 1
                try report(progress)
            }
            let (name, files) = try target.end(type)
            receipt.parts.append(
                Part(
                    type: type.name, name: name, files: files, records: progress.records - before))
        }
        try target.finish()
        return receipt
    }
}

extension RecordExport {
    /// Writes what a FHIR server gets: the Devices, and Observations in a file for each type. What a
    /// clinic has goes as it came.
    private func writeContent(
        _ types: [ArchivedType], _ recipient: Recipient,
        _ report: (Progress) throws(Fault) -> Void
    ) throws(Fault) -> Receipt {
        var folder = try RecordFolder<RecordObservations>(path, recipient, largest: largestFile)
        let (ofClinic, ours) = types.reduce(into: ([ArchivedType](), [ArchivedType]())) {
            if KeptFile.isOfClinic($1.name) { $0.0.append($1) } else { $0.1.append($1) }
        }
        var receipt = try run(ofClinic, &folder, report)
        let content: FHIRContent
        let parts: [FHIRContent.Part]
        do throws(HealthStoreError) {
            content = try FHIRContent(recipient, grain, ours, in: zone, range)
            parts = try content.parts()
        } catch {
            throw .store(error)
        }
        let written = ofClinic.reduce(0) { $0 + $1.months.count }
        var progress = Progress(allMonths: written + parts.count)
        (progress.months, progress.records) = (written, receipt.records)
        var rest = parts[...]
        while let first = rest.first {
            let ofType = rest.prefix { $0.fileName == first.fileName }
            rest = rest.dropFirst(ofType.count)
            var output = try RecordOutput("\(path)/\(first.fileName)", largest: largestFile)
            let before = progress.records
            for part in ofType {
                var portion: FHIRContent.Portion
                do throws(HealthStoreError) {
                    portion = try content.portion(of: part)
                } catch {
                    throw .store(error)
                }
                for index in portion.resources.indices {
                    portion.append(index, to: &output.bytes)
                    output.bytes.append(0x0A)
                    try output.flushBlock()
                }
                // The Devices are of the same months as what follows.
                if let damage = portion.damage, part.resource != "Device" {
                    receipt.damaged.append("\(damage) and left out")
                }
                progress.records += Int64(portion.records)
                progress.months += 1
                try report(progress)
            }
            let files = try output.finish()
            guard first.resource != "Device" else { continue }
            receipt.parts.append(
                Part(
                    type: first.typeName, name: first.fileName, files: files,
                    records: progress.records - before))
        }
        return receipt
    }
}

/// What records are written to, type by type.
protocol RecordTarget {
    mutating func begin(_ type: ArchivedType) throws(RecordExport.Fault)

    /// Writes the records of a month that start in a range; returns how many there are.
    mutating func append(
        _ segment: Segment, _ type: ArchivedType, _ range: Range<Int64>
    ) throws(RecordExport.Fault) -> Int64

    /// Ends the type; returns the name of its first file or its table, and how many there are.
    mutating func end(
        _ type: ArchivedType
    ) throws(RecordExport.Fault) -> (name: String, files: Int)

    /// Called once after the last type.
    mutating func finish() throws(RecordExport.Fault)
}

extension RecordExport.Receipt {
    /// A line for each type, the sum, and what is damaged.
    public var lines: [String] {
        parts.map { part in
            let files = part.files > 1 ? " in \(part.files) files" : ""
            return "\(part.name): \(counted(part.records, "records"))\(files)"
        } + [
            "\(counted(records, "records")) of \(counted(parts.count, "types")) in \(path)"
        ] + damaged
    }
}

extension RecordExport.Receipt: Reported {
    public static let report = Report<RecordExport.Receipt>([
        Column("path", "the folder or file") { $0.path },
        Column("records", "number of records") { $0.records },
        Column("parts", "what was written of each type") { $0.parts },
        Column("damaged", "months with damaged records, in words") { $0.damaged },
    ])
}

extension RecordExport.Part: Reported {
    public static let report = Report<RecordExport.Part>([
        Column("type", "the type of the records") { $0.type },
        Column("name", "name of its file or table") { $0.name },
        Column("files", "number of its files: that one, and others that are numbered from 2") {
            $0.files
        },
        Column("records", "number of its records") { $0.records },
    ])
}

extension RecordExport.Fault {
    /// The fault as a worker's failure.
    public var failure: Failure {
        switch self {
        case .notEmpty(let path):
            Failure(.configuration, "`\(path)` is not empty; name another folder")
        case .exists(let path):
            Failure(.configuration, "`\(path)` is there already; name another file")
        case .unknownType(let name, let suggestion):
            Failure(
                .configuration, "the archive has no records of the type `\(name)`\(suggestion)")
        case .busy(let path): Failure(.disk, "another process writes beside `\(path)`")
        case .damaged(let months, let path):
            Failure(
                .disk,
                "damaged records in \(counted(months, "months")); `\(path)` stays as it is, and "
                    + "`clarity-jobs audit` names them")
        case .stopped: Failure(.work, "its time ended before everything was written")
        case .database(let reason, let path): Failure(.disk, "cannot write `\(path)`: \(reason)")
        case .system(let path, let code):
            Failure(.disk, "cannot write `\(path)`: \(SystemError(code: code).text)")
        case .store(let error): error.failure
        }
    }
}
