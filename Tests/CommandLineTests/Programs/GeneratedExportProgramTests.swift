import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// Compares an export's whole way to the backend with an independent generator of exports.
/// `GeneratedExportTests` compares the reader.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled(
        if: getenv("CLARITY_EXPORT_GENERATOR").map { access($0, R_OK) == 0 } ?? false,
        "CLARITY_EXPORT_GENERATOR names no script"))
struct GeneratedExportProgramTests {
    /// The types of the generator whose records are samples, except blood pressure.
    private static let measured: Set<String> = [
        "HKCategoryTypeIdentifierMindfulSession", "HKQuantityTypeIdentifierBloodGlucose",
        "HKQuantityTypeIdentifierBodyTemperature", "HKQuantityTypeIdentifierHeartRate",
        "HKQuantityTypeIdentifierHeartRateVariabilitySDNN",
        "HKQuantityTypeIdentifierOxygenSaturation", "HKQuantityTypeIdentifierRespiratoryRate",
    ]

    /// The types whose records become days and nights.
    private static let folded: Set<String> = [
        "HKCategoryTypeIdentifierSleepAnalysis", "HKQuantityTypeIdentifierActiveEnergyBurned",
        "HKQuantityTypeIdentifierAppleExerciseTime",
        "HKQuantityTypeIdentifierDistanceWalkingRunning", "HKQuantityTypeIdentifierFlightsClimbed",
        "HKQuantityTypeIdentifierRestingHeartRate", "HKQuantityTypeIdentifierStepCount",
        "HKQuantityTypeIdentifierVO2Max",
    ]

    private static let pressures: Set<String> = [
        "HKQuantityTypeIdentifierBloodPressureDiastolic",
        "HKQuantityTypeIdentifierBloodPressureSystolic",
    ]

    @Test func `a hundred thousand generated records are counted, and each sample arrives once`()
        async throws
    {
        let playground = try await Playground.quick()
        let sandbox = try #require(playground.sandbox)
        try await playground.logIn()
        let truth = try await generate(in: playground)

        let result = try await playground.run("run", "upload")

        #expect(result.status == 0, "\(result.errors)")
        let run = try await playground.lastRun(of: "upload")
        let counts = run["counts"]
        let unmapped = truth["types"].keys.subtracting(
            Self.measured.union(Self.folded).union(Self.pressures))
        let total = { (names: Set<String>) in
            names.compactMap { truth["types"][$0].number }.reduce(0, +)
        }
        // A workout counts as a record, and as one of those that are made.
        let export = try TemporaryFolder.read("\(playground.folder.path)/export.xml")
        let workouts = export.split(separator: UInt8(ascii: "\n")).count {
            $0.starts(with: Array(" <Workout ".utf8))
        }
        #expect(workouts > 0)
        #expect(counts["samples_read"].number == (truth["top_records"].number ?? 0) + workouts)
        #expect(counts["samples_nested"] == truth["nested_records"])
        #expect(counts["samples_refused"] == .number(0))
        #expect(counts["samples_kept_here"] == .number(total(unmapped)))
        // The note names the eight largest types.
        let largest = unmapped.sorted { total([$1]) < total([$0]) }.prefix(8)
        for type in largest {
            #expect(
                run["notes"].elements.contains {
                    $0.text?.contains("\(type) (\(total([type])))") == true
                })
        }
        #expect(counts["samples_paired"].number.map { 2 * $0 } == total(Self.pressures))
        let repeated = try #require(counts["samples_repeated"].number)
        #expect(counts["samples_folded"].number == total(Self.folded) - repeated + workouts)
        // A sleep stage that appears twice overlaps itself, and counts once without being
        // recognised.
        let parts = Self.folded.subtracting(["HKCategoryTypeIdentifierSleepAnalysis"])
        #expect(repeated == (try await repetitions(of: parts, apart: true, in: playground)))
        let queued = try #require(counts["samples_queued"].number)
        let duplicates = try #require(counts["samples_duplicate"].number)
        let pressures = total(Self.pressures) / 2
        #expect(queued + duplicates == total(Self.measured) + pressures)
        #expect(duplicates == (try await repetitions(of: Self.measured, in: playground)))
        let days = try #require(counts["metrics_queued"].number)
        #expect(days > 0 && counts["metrics_made"].number == days)
        let sent = queued + days - (counts["samples_not_accepted"].number ?? 0)
        #expect(counts["samples_accepted"] == .number(sent))
        // Each kind takes a route that accepts it, and `samples` counts both routes.
        #expect(try await sandbox.count("samples") == sent)
        #expect(try await sandbox.count("doubled") == 0)
    }

    /// Returns how many records repeat the type, times, value and unit of another, as a second
    /// language counts them.
    ///
    /// The source of a record does not make it another sample. It does make it another part of a
    /// day (`apart`), of which one source counts. The generator repeats no blood pressure, which is
    /// two records.
    private func repetitions(
        of types: Set<String>, apart: Bool = false, in playground: Playground
    ) async throws -> Int {
        let script = """
            import re, sys
            types = set(sys.argv[2].split(","))
            seen, count = set(), 0
            for line in open(sys.argv[1], encoding="utf-8"):
                if not line.startswith(" <Record "): continue
                fields = dict(re.findall(r'(\\w+)="([^"]*)"', line))
                if fields["type"] not in types: continue
                count += 1
                value = fields.get("value", "")
                seen.add((fields["type"], fields["startDate"], fields["endDate"],
                    float(value) if fields.get("unit") else value, fields.get("unit"),
                    fields["sourceName"] if sys.argv[3] == "apart" else None))
            print(count - len(seen))
            """
        let result = try await ChildProgram.run(
            "/usr/bin/env",
            [
                "python3", "-c", script, "\(playground.folder.path)/export.xml",
                types.joined(separator: ","), apart ? "apart" : "together",
            ],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"])
        return try #require(Int(result.outputLines.first ?? ""), "\(result.errors)")
    }

    private func generate(in playground: Playground) async throws -> JSONValue {
        let script = try #require(getenv("CLARITY_EXPORT_GENERATOR").map { String(cString: $0) })
        let path = "\(playground.folder.path)/export.xml"
        let result = try await ChildProgram.run(
            "/usr/bin/env", ["python3", script, "--records", "100000", "--out", path, "--truth"],
            environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"])
        #expect(result.status == 0, "\(result.errors)")
        let truth = try TemporaryFolder.read("\(path).truth.json")
        return try JSONValue(String(decoding: truth, as: UTF8.self))
    }
}
