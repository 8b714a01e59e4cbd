import HealthModel
import FoundationEssentials
import Glibc
import Testing

@testable import Import

/// Compares the reader with a generator of exports that somebody else wrote.
///
/// The generator is not part of the project: `CLARITY_EXPORT_GENERATOR` names its script. The
/// script accepts `--records`, `--out`, `--truth` and `--malformed`, and writes its counts beside
/// the export. Without the script or Python the tests are skipped and say so.
@Suite(
    .enabled(
        if: Generator.isPresent,
        "CLARITY_EXPORT_GENERATOR names no script, or there is no python3"))
struct GeneratedExportTests {
    private struct Truth: Decodable {
        var top_records: Int64
        var nested_records: Int64
        var bytes: Int64
        var types: [String: Int64]
        var dup_exact: Int64
        var dup_device_pointer: Int64
        var dup_creation_date: Int64
    }

    @Test(arguments: [
        "", "vt,ctrlref,nbsp,rawamp,rawlt,dupattr,attrspace,badutf8,hugeattr,bom,dtd12",
    ])
    func `twenty thousand generated records are all counted`(malformed: String) throws {
        try Files.withFolder { folder in
            let path = "\(folder)/export.xml"
            try Generator.run(
                ["--records", "20000", "--out", path, "--truth"]
                    + (malformed.isEmpty ? [] : ["--malformed", malformed]))
            let truth = try JSONDecoder().decode(
                Truth.self, from: Data(try Files.bytes("\(path).truth.json")))
            // There is one heart rate for each malformation of a record; the last two have none.
            let added = malformed.isEmpty ? 0 : Int64(malformed.split(separator: ",").count - 2)

            let report = try AppleHealthExport(path: path, now: readingTime).read { _, _ in }

            // A workout is a record too, and one of those that are made.
            let workouts = Int64(
                try Files.bytes(path).split(separator: UInt8(ascii: "\n")).count {
                    $0.starts(with: Array(" <Workout ".utf8))
                })
            #expect(workouts > 0)
            #expect(report.recordsRead == truth.top_records + workouts)
            #expect(report.nestedSkipped == truth.nested_records)
            #expect(report.bytesRead == truth.bytes)
            #expect(report.unexplained == 0)
            #expect(report.refused == [:])
            #expect(report.brokeAt == nil)
            let unmapped = truth.types.filter { HealthKitType(identifier: $0.key) == nil }
            #expect(report.unmapped == unmapped)
            let rates = truth.types["HKQuantityTypeIdentifierHeartRate"] ?? 0
            #expect(report.samplesByKind[.heartRate] == rates + added)
            let copies = truth.dup_exact + truth.dup_device_pointer + truth.dup_creation_date
            // The reader counts copies of records of days, and leaves those of measurements to the
            // outbox.
            #expect(report.repeated > copies / 3 && report.repeated < copies)
            #expect(
                report.aggregated + report.repeated - workouts
                    == truth.types.filter { GeneratedExportTests.isAggregated($0.key) }.values
                    .reduce(
                        0, +)
            )
        }
    }
}

extension GeneratedExportTests {
    fileprivate static func isAggregated(_ identifier: String) -> Bool {
        switch HealthKitType(identifier: identifier) {
        case .quantity(let kind): ActivityDay.kinds.contains(kind)
        case .sleepStage: true
        default: false
        }
    }
}

enum Generator {
    static let script = getenv("CLARITY_EXPORT_GENERATOR").map { String(cString: $0) }

    static let isPresent =
        script.map { access($0, R_OK) == 0 } ?? false
        && (getenv("PATH").map { String(cString: $0) } ?? "").split(separator: ":")
            .contains { access("\($0)/python3", X_OK) == 0 }

    static func run(_ arguments: [String]) throws {
        let words = ["python3", script ?? ""] + arguments
        var pointers = words.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var child: pid_t = 0
        guard posix_spawnp(&child, "python3", nil, nil, &pointers, environ) == 0 else {
            throw Files.Failure(what: "cannot start python3")
        }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        guard status == 0 else { throw Files.Failure(what: "the generator failed: \(status)") }
    }
}
