import ClarityTestSupport
@testable import ProgramTestSupport
import Database
import Testing

/// Workouts from an export to the backend, judged by what the backend received.
@Suite("Workouts at the backend", .timeLimit(.minutes(5)))
struct WorkoutProgramTests {
    private static let loop = ["--dialect", "loop", "--quirks", "measured"]

    /// Writes an export of four workouts, one of which has another distance than usual.
    private func write(distance: String, exported day: Int, to playground: Playground) throws {
        let workouts = (1...3).map { day in
            """
             <Workout workoutActivityType="HKWorkoutActivityTypeRunning" duration="30.5" \
            durationUnit="min" totalDistance="\(day == 2 ? distance : "5.25")" \
            totalDistanceUnit="km" sourceName="Ada's Watch" \
            startDate="2026-10-0\(day) 08:00:00 +0000" endDate="2026-10-0\(day) 08:30:30 +0000">
              <WorkoutStatistics type="HKQuantityTypeIdentifierActiveEnergyBurned" sum="310" \
            unit="kcal"/>
             </Workout>

            """
        }
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE HealthData [
            ]>
            <HealthData locale="en_GB">
             <ExportDate value="2026-10-\(day) 09:00:00 +0000"/>
             <Record type="HKQuantityTypeIdentifierBasalEnergyBurned" sourceName="W" unit="kcal" \
            startDate="2026-10-01 08:00:00 +0000" endDate="2026-10-01 09:00:00 +0000" value="60"/>
             <Workout workoutActivityType="HKWorkoutActivityTypeYoga" sourceName="W"/>
            \(workouts.joined())</HealthData>

            """
        try playground.folder.write("export.xml", Array(text.utf8))
    }

    @Test(arguments: [["--dialect", "blueprint"], WorkoutProgramTests.loop])
    func `each workout arrives once, and a correction follows`(options: [String]) async throws {
        let playground = try await Playground(sandboxOptions: options)
        let sandbox = try #require(playground.sandbox)
        try write(distance: "5.25", exported: 10, to: playground)
        try await playground.logIn()

        let first = try await playground.run("run", "upload")
        let told = try await playground.lastRun(of: "upload")
        // The same records in another file.
        try write(distance: "5.25", exported: 11, to: playground)
        let again = try await playground.run("run", "upload")
        let once = try workouts(at: playground)
        try write(distance: "6", exported: 12, to: playground)
        let corrected = try await playground.run("run", "upload")
        // An older export does not bring the former value back.
        try write(distance: "5.25", exported: 11, to: playground)
        let older = try await playground.run("run", "upload")
        let all = try workouts(at: playground)
        let outbox = try await playground.json("outbox")
        let audit = try await playground.run("audit")
        let kept = try await playground.json("records")

        for run in [first, again, corrected, older] { #expect(run.status == 0, "\(run.errors)") }
        // One record is of a type without a field, one workout has no date.
        #expect(told["counts"]["samples_read"].number == 5)
        #expect(told["counts"]["samples_sent"].number == 3)
        #expect(told["counts"]["samples_kept_here"].number == 1)
        #expect(told["counts"]["samples_refused"].number == 1)
        #expect(once.count == 3)
        for workout in once {
            let value = workout["value"]
            #expect(workout["type"].text == "HKWorkoutTypeIdentifier")
            #expect(workout["source_name"].text == "Ada's Watch")
            #expect(value["activity_type"].text == "HKWorkoutActivityTypeRunning")
            #expect(value["duration_minutes"] == (try JSONValue("30.5")))
            #expect(value["distance_km"] == (try JSONValue("5.25")))
            #expect(value["active_energy_kcal"].number == 310)
        }
        #expect(
            once.compactMap { $0["start_date"].text }.sorted()
                == (1...3).map { "2026-10-0\($0)T08:00:00Z" })
        #expect(all.count == 4)
        #expect(all.filter { $0["value"]["distance_km"].number == 6 }.count == 1)
        #expect(try await sandbox.count("doubled") == 0)
        // Read = sent + kept here + refused, once for all four readings. The correction is a value
        // of its own, and what the last reading knew is among these four.
        let records = outbox["records"]
        #expect(outbox["balanced"] == .bool(true) && records["read"].number == 5)
        #expect(records["folded"].number == 3 && records["refused"].number == 1)
        #expect(records["unmapped"].number == 1 && records["queued"].number == 0)
        #expect(outbox["days_and_nights"]["made"].number == 4)
        #expect(outbox["days_and_nights"]["queued"].number == 3)
        #expect(outbox["days_and_nights"]["corrected"].number == 1)
        #expect(outbox["days_and_nights"]["known"].number == 0)
        #expect(audit.status == 0, "\(audit.output)")
        #expect(
            kept.elements.first { $0["type"].text == "Workout" }?["records"].number == 4)
    }

    /// Returns the workouts that the stand-in backend has.
    private func workouts(at playground: Playground) throws -> [JSONValue] {
        try FileConnection(
            path: "\(playground.folder.path)/sandbox/sandbox.db", access: .readOnly
        ).all("SELECT body FROM healthkit_samples WHERE kind = 'workouts'") { $0.text(0) }
            .map { try JSONValue($0) }
    }
}
