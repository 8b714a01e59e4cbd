import Database
import Testing

@testable import HealthStore

@Suite(.onBothEngines) struct DialectsTests {
    @Test func `each backend's dialect outlives the process, and the last word counts`() throws {
        let folder = StateFolder()

        try folder.open().sessions.remember("blueprint", of: "http://a/api/v1")
        try folder.open().sessions.remember("loop", of: "http://a/api/v1")
        try folder.open().sessions.remember("blueprint", of: "http://b/api/v1")

        let store = try folder.open()
        #expect(try store.sessions.dialect(of: "http://a/api/v1") == "loop")
        #expect(try store.sessions.dialect(of: "http://b/api/v1") == "blueprint")
        #expect(try store.sessions.dialect(of: "http://c/api/v1") == nil)
    }

    @Test func `a name that is none is not kept`() throws {
        let store = try StateFolder().open()

        #expect(throws: HealthStoreError.self) { try store.sessions.remember("", of: "http://a") }
    }
}
