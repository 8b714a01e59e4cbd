import SQLite
import Testing

@testable import ClarityJobs
@testable import ClarityScheduler

@Suite struct DayZoneTests {
    private let folder = StateFolder()

    @Test func `the first zone is kept, sealed, until everything is removed`() throws {
        let store = try folder.open()
        #expect(try store.dayZone() == nil)

        #expect(try store.keepDayZone("Europe/London") == "Europe/London")
        #expect(try store.keepDayZone("America/New_York") == "Europe/London")

        #expect(try folder.open().dayZone() == "Europe/London")
        let row = try store.access { connection in
            try connection.first("SELECT CAST(sealed AS TEXT) FROM day_zone") { $0.text(0) }
        }
        #expect(try !(#require(row)).contains("London"))
        _ = try store.wipe()
        #expect(try folder.open().dayZone() == nil)
    }

    @Test func `a damaged note is none, and the next takes its place`() throws {
        let store = try folder.open()
        _ = try store.keepDayZone("Europe/London")

        try store.sql("UPDATE day_zone SET sealed = zeroblob(60)")

        #expect(try store.dayZone() == nil)
        #expect(try store.keepDayZone("America/New_York") == "America/New_York")
        #expect(try store.dayZone() == "America/New_York")
    }
}
