@testable import Import
import ClarityTestSupport

import FoundationEssentials
import Testing

/// Tests every kind of damage that the generator of `GeneratedExportTests` makes, each alone.
@Suite(
    .enabled(
        if: Generator.isPresent,
        "CLARITY_EXPORT_GENERATOR names no script, or there is no python3"))
struct GeneratedMalformationTests {
    private struct Truth: Decodable {
        var top_records: Int64
        var nested_records: Int64
        var bytes: Int64
        var metadata_entries: Int64
        var instantaneous_bpm: Int64
        var hrv_lists: Int64
        var workouts: Int64
        var workout_statistics: Int64
        var activity_summaries: Int64
        var correlations: Int64
    }

    struct Kind: CustomTestStringConvertible {
        var name: String
        var malformations: [String: Int64] = [:]
        /// The byte at every place of the malformation, if it is always the same.
        var byte: UInt8?
        /// The records that the generator writes but does not count, because no XML parser returns
        /// them.
        var uncounted: Int64 = 0
        /// The metadata that the generator writes but does not count.
        var uncountedMetadata: Int64 = 0
        /// The number of roots in the text.
        var roots: Int64 = 1
        var testDescription: String { name }
    }

    static let kinds = [
        Kind(name: "dtd12", malformations: ["malformed document type": 3], byte: 0x3C),
        Kind(name: "vt", malformations: ["control character": 1], byte: 0x0B, uncountedMetadata: 1),
        Kind(
            name: "ctrlref", malformations: ["illegal character reference": 1], byte: 0x26,
            uncountedMetadata: 1),
        Kind(name: "rawamp", malformations: ["raw ampersand": 1], byte: 0x26),
        Kind(name: "rawlt", malformations: ["raw less-than sign": 1], byte: 0x3C),
        Kind(name: "dupattr", malformations: ["duplicate attribute": 1]),
        Kind(name: "attrspace", malformations: ["attribute name with a space": 1]),
        Kind(name: "badutf8", malformations: ["bad UTF-8": 1], byte: 0xE9),
        Kind(name: "tworoots", malformations: ["second root": 1], byte: 0x3C, roots: 2),
        Kind(
            name: "bomb", malformations: ["entity declaration": 9, "unknown entity": 1],
            uncounted: 1),
        Kind(
            name: "xxe", malformations: ["entity declaration": 1, "text between elements": 1],
            uncounted: 1),
        Kind(name: "truncated"), Kind(name: "nbsp"), Kind(name: "baddate"), Kind(name: "missing"),
        Kind(name: "badvalue"), Kind(name: "reversed"), Kind(name: "future"),
        Kind(name: "singlequote"), Kind(name: "cdata"), Kind(name: "order"), Kind(name: "crlf"),
        Kind(name: "bom"), Kind(name: "hugeattr", uncountedMetadata: 1),
    ]

    @Test(arguments: kinds)
    func `damage is counted and placed, and nothing is lost by it`(kind: Kind) throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/export.xml"
        try Generator.run(
            ["--records", "2000", "--out", path, "--truth", "--malformed", kind.name])
        let truth = try JSONDecoder().decode(
            Truth.self, from: Data(try Files.bytes("\(path).truth.json")))
        let bytes = try Files.bytes(path)

        let text = try ScannedText(bytes)

        let report = text.report
        #expect(report.malformations == kind.malformations)
        if let byte = kind.byte {
            let offsets = try #require(report.offsets.values.first)
            #expect(offsets.allSatisfy { bytes[Int($0)] == byte })
        }
        #expect((report.brokeAt != nil) == (kind.name == "truncated"))
        #expect(report.bytesRead == truth.bytes)
        let top = text.lines.count { $0.hasPrefix("record") }
        #expect(Int64(top) == truth.top_records + kind.uncounted)
        let expected = [
            "HealthData": kind.roots,
            "MetadataEntry": truth.metadata_entries + kind.uncountedMetadata,
            "Record": truth.top_records + truth.nested_records + kind.uncounted,
            "InstantaneousBeatsPerMinute": truth.instantaneous_bpm,
            "HeartRateVariabilityMetadataList": truth.hrv_lists, "Workout": truth.workouts,
            "WorkoutStatistics": truth.workout_statistics,
            "ActivitySummary": truth.activity_summaries, "Correlation": truth.correlations,
        ]
        for (name, count) in expected { #expect(report.elements[name] == count, "\(name)") }
        #expect(report.elements["(other elements)"] == nil)
    }
}
