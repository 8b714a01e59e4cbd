import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

@Suite(.onBothEngines) struct SessionsTests {
    private let folder = StateFolder()

    private func session(_ user: String) -> Session {
        Session(
            userID: user, email: "\(user)@example.com", accessToken: Secret("access-\(user)"),
            refreshToken: Secret("refresh-\(user)"), expiresAt: noon)
    }

    @Test func `a session is kept until it is cleared`() throws {
        try folder.open().sessions.save(session("ada"))
        let kept = try folder.open().sessions.load()

        try folder.open().sessions.clear()

        #expect(kept == session("ada"))
        #expect(try folder.open().sessions.load() == nil)
        #expect(try folder.open().sessions.owner() == "ada")
    }

    @Test(.onFilesAlone)
    func `one at a time may renew the session, and nothing in the folder shows it`() throws {
        let (store, other) = (try folder.open(), try folder.open())
        let before = folder.names
        var first = try store.sessions.lock()

        let second = try other.sessions.lock()
        let names = folder.names
        let isHeld = first != nil
        first = nil
        let third = try other.sessions.lock()

        #expect(isHeld)
        #expect(second == nil)
        #expect(third != nil)
        #expect(names == before)
    }

    @Test(.onFilesAlone) func `another user is refused, after a logout too`() throws {
        try folder.open().sessions.save(session("ada"))
        try folder.open().sessions.clear()

        let error = #expect(throws: HealthStoreError.self) {
            try folder.open().sessions.save(session("eve"))
        }

        #expect(
            error?.description
                == "`\(folder.path)/health.db` belongs to another user; give this one a state "
                + "directory of its own")
        #expect(error?.failure.category == .configuration)
        #expect(try folder.open().sessions.load() == nil)
    }

    @Test func `the same user in another case is the same`() throws {
        try folder.open().sessions.save(session("ADA"))

        try folder.open().sessions.save(session("ada"))

        #expect(try folder.open().sessions.load() == session("ada"))
    }

    @Test func `nobody is logged in to a new store`() throws {
        #expect(try folder.open().sessions.load() == nil)
        #expect(try folder.open().sessions.owner() == nil)
    }
}
