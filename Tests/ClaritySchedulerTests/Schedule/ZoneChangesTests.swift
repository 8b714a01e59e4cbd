@testable import ClarityScheduler
import Testing

@Suite("The changes of a zone's offset")
struct ZoneChangesTests {
    private let forward = Instant(secondsSince1970: 3600)
    private let back = Instant(secondsSince1970: 10_800)

    /// Makes a zone that goes forward by two hours, then only changes its name, then back by one.
    private func zone() throws -> Zone {
        var file = TZifFile()
        file.offsets = [0, 7200, 7200, 3600]
        file.transitions = [(3600, 1), (7200, 2), (10_800, 3)]
        return try file.zone()
    }

    @Test func `changes are found in their order, and a change of name is none`() throws {
        let changes = try zone().changes(in: Instant(secondsSince1970: 0)..<back + .seconds(1))

        #expect(
            changes == [
                Zone.Change(at: forward, before: .zero, after: .seconds(7200)),
                Zone.Change(at: back, before: .seconds(7200), after: .seconds(3600)),
            ])
        #expect(changes.map(\.isForward) == [true, false])
    }

    @Test func `a stretch has its first instant and not its end`() throws {
        let zone = try zone()

        #expect(zone.changes(in: forward..<back).map(\.at) == [forward])
        #expect(zone.changes(in: forward + .milliseconds(1)..<back) == [])
        #expect(zone.changes(in: forward..<forward) == [])
        #expect(
            zone.changes(in: back..<Instant(millisecondsSince1970: .max)).map(\.at) == [back])
        #expect(
            zone.changes(in: Instant(millisecondsSince1970: .min)..<forward).map(\.at) == [])
    }

    @Test func `UTC has none`() {
        let changes = Zone.utc.changes(
            in: Instant(millisecondsSince1970: .min)..<Instant(millisecondsSince1970: .max))

        #expect(changes == [])
    }

    @Test(.enabled(if: SystemZones.isInstalled))
    func `the rule of a zone goes on after its last transition`() throws {
        let years =
            Instant(secondsSince1970: 1_767_225_600)..<Instant(secondsSince1970: 1_830_297_600)

        let changes = try SystemZones.zone("Europe/London").changes(in: years)

        #expect(
            changes.map(\.at.description) == [
                "2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z", "2027-03-28T01:00:00Z",
                "2027-10-31T01:00:00Z",
            ])
    }
}
