import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Testing

@Suite(
    "The programs and the services of the machine", .timeLimit(.minutes(5)),
    .enabled(if: MockBus.isAvailable, Comment(rawValue: MockBus.need)))
struct ServiceProgramTests {
    private func playground(_ constraints: String) async throws -> Playground {
        try await Playground(sandboxOptions: nil) { _, _ in
            """
            version: 1
            backend: { url: "http://127.0.0.1:9/api/v1" }
            jobs:
              - id: cleanup
                kind: cleanup
                schedule: { every: 1d }
                warning: 300ms
                constraints: { \(constraints) }
                retry: { attempts: 1 }

            """
        }
    }

    @Test func `a cleanup stops when the power is unplugged, and that is no failure`() async throws
    {
        let bus = try await MockBus()
        try await bus.start(.upower)
        let playground = try await playground("external_power: true")
        // Creates the files of the health data. A process that holds their lock then keeps a
        // cleanup busy.
        let first = try await playground.run("run", "cleanup", environment: bus.environment)
        let lock = try FileConnection(path: "\(playground.statePath)/health.db", access: .readWrite)
        try lock.execute("BEGIN IMMEDIATE")
        let busy = try playground.start(["run", "cleanup"], environment: bus.environment)
        while try await playground.lastRun(of: "cleanup")["state"] != .string("running") {}

        try await bus.setOnBattery(true)
        let stopped = await busy.finish()
        let between = try await playground.lastRun(of: "cleanup")
        try lock.execute("ROLLBACK")
        try await bus.setOnBattery(false)
        let again = try await playground.run("run", "cleanup", environment: bus.environment)
        let run = try await playground.json("history", "show", "2")

        #expect(first.status == 0, "\(first.errors)")
        #expect(stopped.status == 75, "\(stopped.errors)")
        #expect(
            between["waiting_on"].elements.last?["source"] == .string("UPower: OnBattery"))
        #expect(again.status == 0, "\(again.errors)")
        // With one attempt allowed, the run would be over if the stop counted.
        #expect(run["state"] == .string("succeeded"))
        #expect(
            run["attempt_list"].elements.map { $0["stop_reason"] } == [
                .string("constraintLost"), .null,
            ])
    }

    @Test func `a hanging UPower delays nothing else`() async throws {
        let bus = try await MockBus()
        try await bus.start(.upower, .networkManager)
        bus.freeze(.upower)
        let playground = try await playground("network: unmetered, external_power: true")

        let run = try await playground.run("run", "cleanup", environment: bus.environment)
        let doctor = try await playground.run("doctor", environment: bus.environment)

        // What the kernel reports about this machine's power counts instead.
        #expect([0, 75].contains(run.status), "\(run.errors)")
        #expect(
            doctor.outputLines.contains { $0.hasPrefix("not heard: UPower: ") },
            "\(doctor.output)")
        #expect(
            doctor.outputLines.contains {
                $0.hasPrefix("metered ") && $0.contains("NetworkManager: Metered")
            }, "\(doctor.output)")
    }
}
