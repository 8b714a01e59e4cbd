import HealthStore
import HealthModel
import ClarityScheduler
import Glibc
import JSON

@testable import Backend
@testable import BackendContract
@testable import Import

/// Checks files of samples that other programs write: each record is a sample that can be queued
/// and sent, or is counted with a reason.
enum SpoolProperties {
    /// 2026-11-15T00:00:00Z.
    private static let now = Instant(secondsSince1970: 1_794_700_800)

    static func makeCheck() throws -> FuzzTarget.Check {
        let file = try MemoryFile()
        return { bytes in
            guard let (draw, text) = bytes.drawn else { return }
            switch draw % 4 {
            case 0: try samples(text, in: file, isList: false)
            case 1: try samples(text, in: file, isList: true)
            case 2: try autoExport(Array(text))
            default: try name(String(decoding: text, as: UTF8.self))
            }
        }
    }

    private static func samples(
        _ text: UnsafeBufferPointer<UInt8>, in file: MemoryFile, isList: Bool
    ) throws {
        try file.hold(text)
        var found: [Sample] = []
        var reader = SampleFile(now: now)
        let outcome = try reader.read(
            RegularFile(OpenFile(path: file.path)), path: "steps.json", isList: isList
        ) { sample, _ in found.append(sample) }
        let report = outcome.report
        try require(report.unexplained == 0, "a record that no count explains")
        try require(report.bytesRead == Int64(text.count), "not all bytes are read")
        try require(outcome.faults.count <= SampleFile.mostFaults, "faults without end")
        try require(
            outcome.faultCount == Int(report.refused.values.reduce(0, +)),
            "a record is refused without a word")
        let lines = text.count { $0 == 0x0A } + 1
        for fault in outcome.faults {
            try require((1...lines).contains(fault.line), "a fault outside the file")
            try demandHarmless(fault.what, "a fault")
            try require(fault.what.utf8.count < 500, "a fault without end")
        }
        try require(
            Int64(found.count) == report.samples + report.made.values.reduce(0, +),
            "samples without a count")
        try found.forEach(check)
    }

    private static func autoExport(_ text: [UInt8]) throws {
        var found: [Sample] = []
        var made: [SampleKind: Int64] = [:]
        var reading = AutoExportReading(
            text, now: now, writtenAt: now, rules: AggregationRules())
        let report = try reading.run { sample, nature in
            found.append(sample)
            if nature.isAggregate { made[sample.kind, default: 0] += 1 }
        }
        try require(report.unexplained == 0, "a point that no count explains")
        try require(report.made == made, "days and nights without a count")
        try require((0...Int64(text.count)).contains(report.bytesRead), "bytes beyond the text")
        if let broken = report.brokeAt {
            try require((0...Int64(text.count)).contains(broken.byteOffset), "broken elsewhere")
            try demandHarmless(broken.reason, "why it broke off")
        }
        try found.forEach(check)
    }

    /// Checks that a sample is refused before it is queued, and that a queued sample can be sent to
    /// every endpoint that accepts its kind.
    private static func check(_ sample: Sample) throws {
        let queued: Sample
        do throws(IntakeCheck.Refusal) {
            queued = try IntakeCheck.accepted(sample, at: now)
        } catch {
            return
        }
        _ = MetricNumbers(queued)
        let batch = UploadBatch(
            id: "b", userID: "u", clientTimestamp: now,
            metrics: [UploadMetric(id: "m", sample: queued)])
        for dialect in [Dialect.blueprint, .loop] {
            for route in [UploadRoute.metrics, .samples] {
                var batch = batch
                batch.route = route
                do throws(APIError) {
                    let endpoint = try dialect.endpoint(route)
                    let body = try endpoint.body(batch, userID: "u")
                    try again(isJSON(body))
                } catch .validation, .notOffered {
                    continue
                }
            }
        }
    }

    private static func isJSON(_ body: [UInt8]) -> Bool {
        do throws(JSONFault) {
            _ = try JSONParser.parse(body)
            return true
        } catch {
            return false
        }
    }

    private static func again(_ holds: Bool) throws(APIError) {
        if !holds { throw .refused("a body that is no JSON") }
    }

    /// Checks that a file's name leads only to a file of the folder.
    private static func name(_ name: String) throws {
        guard SpoolFolder.takes(name) else { return }
        try require(!name.hasPrefix(".") && name.utf8.count <= 200, "a name that is none of ours")
        _ = SpoolFolder.isList(name)
    }
}
