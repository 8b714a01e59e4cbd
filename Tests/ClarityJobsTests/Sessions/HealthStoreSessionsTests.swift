import Testing

@testable import ClarityJobs
@testable import ClarityScheduler

@Suite struct HealthStoreSessionsTests {
    private let folder = StateFolder()

    private func session(_ user: String) -> Session {
        Session(
            userID: user, email: "\(user)@example.com", accessToken: Secret("access-\(user)"),
            refreshToken: Secret("refresh-\(user)"), expiresAt: noon)
    }

    @Test func `a session is kept until it is cleared`() throws {
        try folder.open().save(session("ada"))
        let kept = try folder.open().load()

        try folder.open().clear()

        #expect(kept == session("ada"))
        #expect(try folder.open().load() == nil)
        #expect(try folder.open().owner() == "ada")
    }

    @Test func `one at a time may renew the session, and nothing in the folder shows it`() throws {
        let (store, other) = (try folder.open(), try folder.open())
        let before = folder.names
        var first = try store.lockSession()

        let second = try other.lockSession()
        let names = folder.names
        let isHeld = first != nil
        first = nil
        let third = try other.lockSession()

        #expect(isHeld)
        #expect(second == nil)
        #expect(third != nil)
        #expect(names == before)
    }

    @Test func `another user is refused, after a logout too`() throws {
        try folder.open().save(session("ada"))
        try folder.open().clear()

        let error = #expect(throws: HealthStoreError.self) {
            try folder.open().save(session("eve"))
        }

        #expect(
            error?.description
                == "`\(folder.path)/health.db` belongs to another user; give this one a state "
                + "directory of its own")
        #expect(error?.failure.category == .configuration)
        #expect(try folder.open().load() == nil)
    }

    @Test func `the same user in another case is the same`() throws {
        try folder.open().save(session("ADA"))

        try folder.open().save(session("ada"))

        #expect(try folder.open().load() == session("ada"))
    }

    @Test func `nobody is logged in to a new store`() throws {
        #expect(try folder.open().load() == nil)
        #expect(try folder.open().owner() == nil)
    }
}
