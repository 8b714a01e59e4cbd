import ClarityTestSupport
@testable import ProgramTestSupport
import Database
import Testing

/// An archive that has several exports, and one more export that overlaps with them, whose import a
/// test disturbs.
///
/// The import writes August anew, makes one segment of the eight of September, adds a segment to the
/// steps of August, and begins October.
struct ArchiveScene {
    let playground: Playground
    /// What the archive has before the disturbed import, and after a whole one.
    let former: [String]
    let whole: [String]
    /// The rows of the outbox and the segments by type and month after an undisturbed import.
    private let rows: [String]
    let segments: [String]
    /// How often the worker passes a point during that import.
    private let passages: Faultline

    static let program = Faultline.Program.worker

    init() async throws {
        playground = try await Playground(sandboxOptions: nil, isInMemory: true)
        var known = KnownRecords()
        known.add(at: KnownRecords.august, count: 300)
        known.add("StepCount", at: KnownRecords.august, count: 200)
        known.add(at: KnownRecords.september, count: 200)
        // A source may have a record twice.
        known.add(at: KnownRecords.august, count: 3)
        try await ArchiveScene.read(known, playground)
        for minute in 0..<7 {
            known.add(at: KnownRecords.september + 1000 + minute, count: 1)
            try await ArchiveScene.read(known, playground)
        }
        former = known.lines
        let former = former
        try #require(try await playground.archivedLines() == former)
        let months = try ArchiveScene.segments(playground)
        try #require(months.contains { $0.hasSuffix("HeartRate 680 8") }, "\(months)")

        known.add(at: KnownRecords.august + 5000, count: 100)
        known.add(at: KnownRecords.september + 2000, count: 2)
        known.add("StepCount", at: KnownRecords.august + 5000, count: 5)
        known.add(at: KnownRecords.october, count: 50)
        known.add(at: KnownRecords.august + 10, count: 2)
        whole = known.lines
        try known.write(to: playground)
        try playground.keepState()

        // Once undisturbed, to know the points and the result.
        passages = Faultline(counts: "\(playground.folder.path)/passages")
        let read = try await playground.importExport(
            environment: passages.environment(folder: playground.statePath))
        try #require(read.status == 0, "\(read.errors)")
        rows = try playground.outboxRows()
        segments = try ArchiveScene.segments(playground)
        let whole = whole
        try #require(try await playground.archivedLines() == whole)
    }

    /// Returns how often the import passes a point undisturbed.
    func count(of point: Faultline.Point) throws -> Int {
        try passages.count(of: point, program: ArchiveScene.program)
    }

    /// Puts the state back, and imports the last export under a rule.
    func disturbed(by rule: Faultline.Rule) async throws -> (result: ProgramResult, struck: Bool) {
        try playground.putBackState()
        let faultline = Faultline(counts: "\(playground.folder.path)/counts")
        faultline.reset()
        let result = try await playground.importExport(
            environment: faultline.environment(rules: [rule], folder: playground.statePath))
        return (result, try faultline.struck() > 0)
    }

    /// Checks that a disturbed import has lost and doubled nothing, and that the next one completes
    /// it, and adds what it finds to a line.
    ///
    /// - Returns: whether the disturbed import had stored its records already.
    func prove(_ what: String, _ line: inout ChaosLine) async throws -> Bool {
        let between = try await playground.archivedLines()
        try await proveSound(between.count, what)
        let again = try await playground.importExport()
        let end = try await playground.archivedLines()
        try await proveSound(whole.count, what)

        let lost = between.lacks(former) + end.lacks(whole)
        let doubled = whole.lacks(between) + whole.lacks(end)
        line.lost += lost
        line.doubled += doubled
        #expect(lost == 0 && doubled == 0, "\(what): \(between.count) and \(end.count) lines")
        #expect(again.status == 0, "\(what): \(again.errors)")
        #expect(try ArchiveScene.segments(playground) == segments, "\(what)")
        // Compared outside the expectation, which would print all rows.
        let hasAllRows = try playground.outboxRows() == rows
        #expect(hasAllRows, "\(what)")
        return between == whole
    }

    private func proveSound(_ count: Int, _ what: String) async throws {
        let audit = try await playground.run("audit")
        #expect(audit.status == 0, "\(what): \(audit.output) \(audit.errors)")
        #expect(audit.output.contains("the archive is sound: \(count) records\n"), "\(what)")
    }

    private static func read(_ known: KnownRecords, _ playground: Playground) async throws {
        try known.write(to: playground)
        let read = try await playground.importExport()
        try #require(read.status == 0, "\(read.errors)")
    }

    /// Returns the number of segments of each type and month.
    private static func segments(_ playground: Playground) throws -> [String] {
        try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite).all(
            """
            SELECT type || ' ' || month || ' ' || count(*) FROM segments
            GROUP BY type, month ORDER BY type, month
            """
        ) { $0.text(0) }
    }
}
