public import ClarityJobs
public import ClarityScheduler
public import JSON

/// Writes the records of the archive, in the clear.
public struct RecordExport: Sendable {
    public enum Format: String, CaseIterable, Sendable {
        /// A folder with a file for each type.
        case csv
        /// A folder with a file of FHIR R4 Observations for each type.
        case fhir
        /// A file with a table for each type.
        case sqlite
    }

    /// A file or table that was written.
    public struct Part: Hashable, Sendable {
        public let type: String
        public let name: String
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
        public let path: String
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
        /// Why SQLite cannot write.
        case database(reason: String, path: String)
        case system(path: String, code: Int32)
        case store(HealthStoreError)
    }

    private let archive: Archive
    private let format: Format
    private let path: String
    private let range: Range<Int64>

    /// - Parameters:
    ///   - path: an absolute path; nothing may be there, but an empty folder where the format is one.
    ///   - since: the earliest start of a record; `nil` for any.
    ///   - until: the instant before which a record starts; `nil` for any.
    public init(
        _ archive: Archive, as format: Format, to path: String, since: Instant?, until: Instant?
    ) {
        self.archive = archive
        self.format = format
        self.path = path
        let from = since?.secondsSince1970 ?? .min
        range = from..<max(from, until?.secondsSince1970 ?? .max)
    }

    /// Writes the types, in their order. A file has its name when it is whole.
    ///
    /// - Parameter progress: called after each month.
    public func run(
        _ types: [ArchivedType], progress: (Progress) -> Void
    ) throws(Fault) -> Receipt {
        switch format {
        case .csv:
            var target = try RecordFolder<RecordCSV>(path)
            return try run(types, &target, progress)
        case .fhir:
            var target = try RecordFolder<RecordObservations>(path)
            return try run(types, &target, progress)
        case .sqlite:
            var target = try RecordDatabase(path)
            return try run(types, &target, progress)
        }
    }

    private func run(
        _ types: [ArchivedType], _ target: inout some RecordTarget,
        _ report: (Progress) -> Void
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
                    found = try archive.records(of: month)
                } catch {
                    throw .store(error)
                }
                progress.records += try target.append(found.sound, type, range)
                if found.isDamaged { receipt.damaged.append("\(month.damage) and left out") }
                progress.months += 1
                report(progress)
            }
            let name = try target.end(type)
            receipt.parts.append(
                Part(type: type.name, name: name, records: progress.records - before))
        }
        try target.finish()
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

    /// Ends the type; returns the name of its file or table.
    mutating func end(_ type: ArchivedType) throws(RecordExport.Fault) -> String

    /// Called once after the last type.
    mutating func finish() throws(RecordExport.Fault)
}

extension RecordExport.Receipt {
    /// A line for each type, the sum, and what is damaged.
    public var lines: [String] {
        parts.map { "\($0.name): \(counted($0.records, "records"))" } + [
            "\(counted(records, "records")) of \(counted(parts.count, "types")) in \(path)"
        ] + damaged
    }

    public var object: JSON {
        [
            "path": .string(path), "records": .integer(records),
            "parts": .array(
                parts.map {
                    [
                        "type": .string($0.type), "name": .string($0.name),
                        "records": .integer($0.records),
                    ]
                }),
            "damaged": .array(damaged.map { .string($0) }),
        ]
    }
}
