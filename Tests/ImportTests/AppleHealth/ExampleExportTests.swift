import HealthModel
import ClarityScheduler
import FoundationEssentials
import Testing

@testable import Import

/// The counts that the generator of an export recorded while it wrote the export.
private struct Truth: Decodable, Equatable {
    struct Break: Decodable, Equatable {
        var byteOffset: Int64
        var reason: String
    }

    var recordsRead: Int64
    var nestedSkipped: Int64
    var nestedTaken: Int64
    var pairedPartners: Int64
    var samples: [String: Int64]
    var aggregated: Int64
    var repeated: Int64
    var unmapped: [String: Int64]
    var refused: [String: Int64]
    var malformations: [String: Int64]
    var brokeAt: Break?

    init(_ report: SourceReport) {
        recordsRead = report.recordsRead
        nestedSkipped = report.nestedSkipped
        nestedTaken = report.nestedTaken
        pairedPartners = report.pairedPartners
        samples = Dictionary(
            uniqueKeysWithValues: report.samplesByKind.map { ($0.rawValue, $1) })
        aggregated = report.aggregated
        repeated = report.repeated
        unmapped = report.unmapped
        refused = report.refused
        malformations = report.malformations
        brokeAt = report.brokeAt.map { Break(byteOffset: $0.byteOffset, reason: $0.reason) }
    }
}

@Suite struct ExampleExportTests {
    @Test(arguments: ["export", "export-malformed"])
    func `the sample exports are counted as they were made`(name: String) throws {
        let path = "\(Files.root)/Examples/\(name)"
        let truth = try JSONDecoder().decode(
            Truth.self, from: Data(try Files.bytes("\(path).truth.json")))
        var (samples, made): ([SampleKind: Int64], [SampleKind: Int64]) = ([:], [:])

        let report = try AppleHealthExport(path: "\(path).zip", now: readingTime).read {
            if $1.isAggregate {
                made[$0.kind, default: 0] += 1
            } else {
                samples[$0.kind, default: 0] += 1
            }
        }

        #expect(Truth(report) == truth)
        #expect(report.samplesByKind == samples)
        #expect(report.made == made)
        #expect(report.unexplained == 0)
    }

    @Test func `the sample export holds nothing that is later than its day`() throws {
        var latest = readingTime - .seconds(70 * 86_400)
        var earliest = readingTime

        _ = try AppleHealthExport(path: "\(Files.root)/Examples/export.zip", now: readingTime)
            .read { sample, _ in
                latest = max(latest, sample.end)
                earliest = min(earliest, sample.start)
            }

        #expect(earliest > readingTime - .seconds(70 * 86_400))
        #expect(latest < readingTime)
    }

    @Test func `two readings of one minute keep their own halves`() throws {
        var pressures: [Sample] = []

        _ = try AppleHealthExport(path: "\(Files.root)/Examples/export.zip", now: readingTime)
            .read { sample, _ in if sample.kind == .bloodPressure { pressures.append(sample) } }

        let first = try #require(pressures.map(\.start).min())
        let values = pressures.filter { $0.start == first }.map(\.value)
        guard case .pressure(let systolic, let diastolic) = values.last else {
            Issue.record("no blood pressure")
            return
        }
        #expect(values.count == 2)
        #expect(values.first == .pressure(systolic: systolic + 9, diastolic: diastolic - 3))
    }
}
