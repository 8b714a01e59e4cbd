import Database
import Testing

@testable import HealthStore
@testable import ClarityScheduler

@Suite(.onBothEngines) struct DayZoneTests {
    private let folder = StateFolder()

    @Test func `the first zone is settled, encrypted, until everything is removed`() throws {
        let store = try folder.open()
        #expect(try store.outbox.dayZone() == nil)

        #expect(try store.outbox.settleDayZone("Europe/London") == "Europe/London")
        #expect(try store.outbox.settleDayZone("America/New_York") == "Europe/London")

        let london = DayZone(name: "Europe/London", isSettled: true)
        #expect(try folder.open().outbox.dayZone() == london)
        let row = try store.access { connection in
            try connection.first("SELECT CAST(sealed AS TEXT) FROM day_zone") { $0.text(0) }
        }
        #expect(try !(#require(row)).contains("London"))
        _ = try store.wipe()
        #expect(try folder.open().outbox.dayZone() == nil)
    }

    @Test func `a zone is changed on purpose alone`() throws {
        let store = try folder.open()
        _ = try store.outbox.settleDayZone("Europe/London")

        try store.outbox.changeDayZone(to: "Asia/Tokyo")

        #expect(try store.outbox.settleDayZone("Europe/London") == "Asia/Tokyo")
    }

    @Test func `a zone that an earlier release noted gives way to the one that is settled`() throws
    {
        let store = try folder.open()
        let encrypted = store.cipher.encrypt(Array("Etc/UTC".utf8), for: RowIdentity("day_zone"))
        try store.change { connection in
            try connection.run(
                "INSERT INTO day_zone (id, sealed) VALUES (1, ?)", .blob(encrypted))
        }

        let noted = try store.outbox.dayZone()
        let kept = try store.outbox.settleDayZone("Europe/London")

        #expect(noted == DayZone(name: "Etc/UTC", isSettled: false))
        #expect(kept == "Europe/London")
    }

    @Test func `a damaged note is none, and the next takes its place`() throws {
        let store = try folder.open()
        _ = try store.outbox.settleDayZone("Europe/London")

        try store.sql("UPDATE day_zone SET sealed = zeroblob(60)")

        #expect(try store.outbox.dayZone() == nil)
        #expect(try store.outbox.settleDayZone("America/New_York") == "America/New_York")
        #expect(try store.outbox.dayZone()?.name == "America/New_York")
    }
}
