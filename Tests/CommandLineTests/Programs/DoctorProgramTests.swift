import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

@Suite("doctor", .timeLimit(.minutes(5)))
struct DoctorProgramTests {
    @Test func `doctor shows each condition with its source, and how to know more`()
        async throws
    {
        let playground = try await Playground(sandboxOptions: nil)
        let noBus = ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(playground.folder.path)/bus"]

        let text = try await playground.run("doctor", environment: noBus)
        let json = try await JSONValue(
            playground.run("doctor", "--output", "json", environment: noBus).output)

        #expect(text.status == 0 && text.errors == "")
        let lines = text.outputLines
        #expect(lines.first?.hasPrefix("CONDITION") == true)
        let names = json["conditions"].elements.compactMap { $0["name"].text }
        #expect(
            names == [
                "connected", "metered", "roaming", "external_power", "battery", "low_power",
                "idle", "storage_free_bytes", "pressure_percent",
            ])
        for (line, name) in zip(lines.dropFirst(), names) { #expect(line.hasPrefix("\(name) ")) }
        for condition in json["conditions"].elements {
            #expect(condition["source"].text?.isEmpty == false)
            #expect(isInstant(condition["at"].text))
        }
        let idle = try #require(json["conditions"].elements.first { $0["name"] == .string("idle") })
        #expect(idle["value"] == .null && idle["words"] == .string("unknown"))
        #expect(idle["to_know_more"].text?.hasPrefix("run systemd-logind, or say ") == true)
        #expect(lines.contains { $0.hasPrefix("to know more: idle: run systemd-logind, or say ") })
        #expect(lines.contains { $0.hasPrefix("heard at once: links and routes") })
        #expect(lines.contains { $0.hasPrefix("not heard: UPower: no system bus: ") })
    }

    @Test(.enabled(if: MockBus.isAvailable, Comment(rawValue: MockBus.need)))
    func `doctor names the services that answer`() async throws {
        let bus = try await MockBus()
        try await bus.start(.networkManager, .upower, .logind, .powerProfiles, .modemManager)
        try await bus.setBattery(percent: 81.9)
        try await bus.addSession("1")
        let playground = try await Playground(sandboxOptions: nil)

        let doctor = try await playground.run("doctor", environment: bus.environment)

        let lines = doctor.outputLines
        func row(_ name: String) -> String { lines.first { $0.hasPrefix("\(name) ") } ?? "" }
        #expect(row("battery").contains("81 %"), "\(doctor.output)")
        #expect(row("battery").contains("UPower: "))
        #expect(row("external_power").contains("UPower: OnBattery"))
        #expect(row("low_power").contains("power-profiles-daemon: ActiveProfile"))
        #expect(
            row("idle").contains("in use") && row("idle").contains("logind: IdleHint, 1 session"))
        #expect(lines.contains { $0.hasPrefix("heard at once: ") && $0.contains(", UPower, ") })
        #expect(!lines.contains { $0.hasPrefix("not heard: ") }, "\(doctor.output)")
    }
}
