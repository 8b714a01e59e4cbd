import HealthStore
import ClarityScheduler
import Platform

@testable import Import
import Testing

@Suite struct DayZoneChoiceTests {
    /// Returns three days of a zone around a change of its clock.
    private func days(of name: String) throws -> [Range<Int64>] {
        var days = LocalDays(zone: try #require(find(name)))
        let first = days.day(at: 1_761_400_000).number
        return (first..<first + 3).map { days.day($0).start..<days.day($0).end }
    }

    private func find(_ name: String) -> Zone? { SystemZones(environment: [:]).zone(named: name) }

    @Test(
        arguments: [
            ("nothing named", [], nil, nil, "Etc/UTC"),
            ("nothing named, one noted", [], "Asia/Tokyo", nil, "Asia/Tokyo"),
            ("one named", ["Europe/Madrid"], "Asia/Tokyo", nil, "Europe/Madrid"),
            ("two named", ["Europe/Madrid", "Asia/Tokyo"], nil, nil, "Europe/Madrid"),
            ("unknown ones", ["Mars/Base"], nil, nil, "Etc/UTC"),
            (
                "days of the named one", ["Europe/Madrid"], "Etc/UTC", "Europe/Madrid",
                "Europe/Madrid"
            ),
            ("days of the noted one", ["Europe/Madrid"], "Etc/UTC", "Etc/UTC", "Etc/UTC"),
            (
                "days of the second one", ["Asia/Tokyo", "Europe/Madrid"], nil, "Europe/Madrid",
                "Europe/Madrid"
            ),
        ] as [(String, [String], String?, String?, String)])
    func `a named zone comes first, but the days that there are decide`(
        row: String, named: [String], noted: String?, days: String?, chosen: String
    ) throws {
        let choice = DayZoneChoice(
            named: named, noted: noted, local: "Etc/UTC",
            days: try days.map { try self.days(of: $0) } ?? [])

        #expect(try choice.zone(find) == chosen)
    }

    @Test func `days that went out in two zones follow the named one`() throws {
        let choice = DayZoneChoice(
            named: ["Europe/Madrid"], noted: "Etc/UTC", local: "Etc/UTC",
            days: try days(of: "Etc/UTC") + days(of: "Europe/Madrid"))

        #expect(try choice.zone(find) == "Europe/Madrid")
    }

    @Test func `days that follow none of the zones are cut anew by no guess`() throws {
        let choice = DayZoneChoice(
            named: [], noted: nil, local: "Etc/UTC", days: try days(of: "Asia/Tokyo"))

        #expect(
            throws: Failure(
                .configuration,
                "the 3 days of this account do not follow `Etc/UTC`; name their time zone with "
                    + "`time_zone` in the job file or with `--time-zone`")
        ) { try choice.zone(find) }
    }

    @Test func `a machine without any of the zones chooses none`() throws {
        let choice = DayZoneChoice(named: [], noted: nil, local: "CET-1CEST", days: [])

        #expect(try choice.zone(find) == nil)
    }
}
