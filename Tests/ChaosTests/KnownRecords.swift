import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Foundation
import Testing

/// Records that a test writes as exports of Apple Health, and that `export-data` must give back.
struct KnownRecords: Sendable {
    /// A measurement at a minute of 2026, counted from the first of January in UTC.
    struct Record: Hashable, Sendable {
        var type = "HeartRate"
        var minute: Int
        /// Follows from the minute, so that a line with another value is a damaged one.
        var value: Int { 60 + minute % 40 }
        var unit: String { type == "StepCount" ? "count" : "count/min" }

        var time: (day: String, clock: String) {
            let text = Instant(secondsSince1970: Self.firstSecond + Int64(minute) * 60).description
            return (String(text.prefix(10)), String(text.dropFirst(11).prefix(8)))
        }

        /// The line of a CSV file that `export-data` writes.
        fileprivate var line: String {
            let (day, clock) = time
            let moment = "\(day)T\(clock)+00:00"
            return "HKQuantityTypeIdentifier\(type),Watch,,,\(unit),,\(moment),\(moment),\(value),"
        }

        fileprivate var element: String {
            let (day, clock) = time
            let moment = "\(day) \(clock) +0000"
            return "<Record type=\"HKQuantityTypeIdentifier\(type)\" sourceName=\"Watch\" "
                + "unit=\"\(unit)\" startDate=\"\(moment)\" endDate=\"\(moment)\" "
                + "value=\"\(value)\"/>\n"
        }

        /// 2026-01-01T00:00:00Z.
        private static let firstSecond: Int64 = 1_767_225_600
    }

    /// The minute at which a day of 2026 begins, counted from 0.
    static func day(_ number: Int) -> Int { number * 1440 }

    /// The days of 2026 at which these months begin.
    static let (august, september, october) = (day(212), day(243), day(273))

    private(set) var records: [Record] = []

    /// Adds records of a type, a minute apart.
    mutating func add(_ type: String = "HeartRate", at first: Int, count: Int) {
        records += (first..<first + count).map { Record(type: type, minute: $0) }
    }

    func adding(_ type: String = "HeartRate", at first: Int, count: Int) -> KnownRecords {
        var more = self
        more.add(type, at: first, count: count)
        return more
    }

    func filter(_ isIncluded: (Record) -> Bool) -> KnownRecords {
        KnownRecords(records: records.filter(isIncluded))
    }

    /// The sorted lines of the CSV files, without their headings.
    var lines: [String] { records.map(\.line).sorted() }

    /// Writes the export to the path in the job file.
    func write(to playground: Playground) throws {
        let text =
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<HealthData locale=\"en_GB\">\n"
            + "<ExportDate value=\"2026-11-20 09:00:00 +0000\"/>\n"
            + records.map(\.element).joined() + "</HealthData>\n"
        try playground.folder.write("export.xml", Array(text.utf8))
    }
}

extension Playground {
    /// Imports the export at the path in the job file.
    func importExport(environment: [String: String] = [:]) async throws -> ProgramResult {
        try await run("import", "\(folder.path)/export.xml", "-q", environment: environment)
    }

    /// Returns the sorted lines of the files that `export-data` writes, without their headings.
    func archivedLines(status: Int32 = 0) async throws -> [String] {
        let path = "\(folder.path)/given"
        let result = try await run("export-data", "--out", path)
        #expect(result.status == status, "\(result.output) \(result.errors)")
        let lines = try Playground.csvLines(in: path)
        try FileManager.default.removeItem(atPath: path)
        return lines
    }

    /// Returns the sorted lines of the CSV files of a folder, without their headings.
    static func csvLines(in path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path)
            .filter { $0.hasSuffix(".csv") }
            .flatMap { name in
                String(decoding: try TemporaryFolder.read("\(path)/\(name)"), as: UTF8.self)
                    .split(whereSeparator: \.isNewline).dropFirst().map(String.init)
            }.sorted()
    }

    /// Copies the state directory, for `putBack`.
    func keepState() throws {
        let kept = "\(folder.path)/kept"
        if FileManager.default.fileExists(atPath: kept) {
            try FileManager.default.removeItem(atPath: kept)
        }
        try FileManager.default.copyItem(atPath: statePath, toPath: kept)
    }

    /// Puts the state directory back as `keepState` copied it.
    func putBackState() throws {
        try FileManager.default.removeItem(atPath: statePath)
        try FileManager.default.copyItem(atPath: "\(folder.path)/kept", toPath: statePath)
    }
}

extension [String] {
    /// Returns how many lines of another sorted list this sorted list does not have as often.
    func lacks(_ other: [String]) -> Int {
        var (own, index) = (0, 0)
        var found = 0
        while own < count, index < other.count {
            if self[own] == other[index] {
                found += 1
                own += 1
                index += 1
            } else if self[own] < other[index] {
                own += 1
            } else {
                index += 1
            }
        }
        return other.count - found
    }
}
