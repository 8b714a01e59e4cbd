import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

@Suite(.onBothEngines) struct SessionRecordTests {
    private let folder = StateFolder()

    private func session(_ token: String, user: String = "ada") -> Session {
        Session(
            userID: user, email: "ada@example.com", accessToken: Secret("access-\(token)"),
            refreshToken: Secret("refresh-\(token)"), expiresAt: noon, backend: "http://b")
    }

    private var record: SessionRecord? { get throws { try folder.open().sessions.record() } }

    @Test func `a login begins the record anew`() throws {
        try folder.open().sessions.save(session("1"), at: noon)
        _ = try folder.open().sessions.noteRefusal("out of order", isTrouble: true, at: noon)

        try folder.open().sessions.save(session("2"), at: noon + .seconds(60))

        let record = try #require(try record)
        #expect(record.email == "ada@example.com" && record.backend == "http://b")
        #expect(record.loggedInAt == noon + .seconds(60))
        #expect(record.renewedAt == nil && record.refusal == nil && record.trouble == nil)
    }

    @Test func `a renewal is noted and ends the trouble`() throws {
        try folder.open().sessions.save(session("1"), at: noon)
        _ = try folder.open().sessions.noteRefusal("out of order", isTrouble: true, at: noon)

        let isReplaced = try folder.open().sessions.replace(
            session("1"), with: session("2"), at: noon + .seconds(60))

        let record = try #require(try record)
        #expect(isReplaced)
        #expect(try folder.open().sessions.load() == session("2"))
        #expect(record.loggedInAt == noon && record.renewedAt == noon + .seconds(60))
        #expect(record.refusal?.reason == "out of order" && record.trouble == nil)
    }

    @Test(arguments: ["another login", "a logout", "an end"])
    func `a renewal under way undoes nothing that came meanwhile`(change: String) throws {
        try folder.open().sessions.save(session("1"), at: noon)
        switch change {
        case "another login": try folder.open().sessions.save(session("3"), at: noon)
        case "a logout": try folder.open().sessions.clear()
        default: _ = try folder.open().sessions.remove(session("1"), because: "over", at: noon)
        }
        let kept = try folder.open().sessions.load()

        let isReplaced = try folder.open().sessions.replace(
            session("1"), with: session("2"), at: noon)
        let isRemoved = try folder.open().sessions.remove(session("1"), because: "late", at: noon)

        #expect(!isReplaced && !isRemoved)
        #expect(try folder.open().sessions.load() == kept)
        #expect(try record?.refusal?.reason != "late")
    }

    @Test func `a renewal that is another user's is refused`() throws {
        try folder.open().sessions.save(session("1"), at: noon)

        #expect(throws: HealthStoreError.self) {
            try folder.open().sessions.replace(
                session("1"), with: session("2", user: "eve"), at: noon)
        }

        #expect(try folder.open().sessions.load() == session("1"))
    }

    @Test func `a session that the backend ended leaves why, and who it was`() throws {
        try folder.open().sessions.save(session("1"), at: noon)

        let isRemoved = try folder.open().sessions.remove(
            session("1"), because: "refused", at: noon + .seconds(1))

        #expect(isRemoved)
        #expect(try folder.open().sessions.load() == nil)
        #expect(try record?.email == "ada@example.com")
        #expect(try record?.refusal?.at == noon + .seconds(1))
        #expect(try record?.refusal?.reason == "refused")
    }

    @Test func `a logout leaves nothing of the record`() throws {
        try folder.open().sessions.save(session("1"), at: noon)

        try folder.open().sessions.clear()

        #expect(try record == nil)
        #expect(try folder.open().sessions.noteRefusal("late", isTrouble: true, at: noon) == nil)
        #expect(try record == nil)
    }

    @Test(arguments: [
        ([0, 450, 900], true), ([0, 450, 899], false), ([0, 900], false),
        ([0, 1, 2, 3, 4], false), ([0, 1, 2, 3, 900], true),
        // The clock stepped back by an hour; the span counts from there.
        ([3600, 0, 1, 2], false), ([3600, 0, 450, 900], true),
    ])
    func `trouble lasts from the third error and the fifteenth minute on`(
        seconds: [Int], isLasting: Bool
    ) throws {
        try folder.open().sessions.save(session("1"), at: noon)
        var trouble: SessionRecord.Trouble?
        for second in seconds {
            trouble = try folder.open().sessions.noteRefusal(
                "out of order", isTrouble: true, at: noon + .seconds(second))
        }

        let now = noon + .seconds(try #require(seconds.last))
        #expect(trouble?.isLasting(at: now) == isLasting)
        #expect(trouble?.count == seconds.count)
    }

    @Test func `a refusal that is no trouble of the backend counts to none`() throws {
        try folder.open().sessions.save(session("1"), at: noon)
        _ = try folder.open().sessions.noteRefusal("out of order", isTrouble: true, at: noon)

        let trouble = try folder.open().sessions.noteRefusal(
            "no network", isTrouble: false, at: noon)

        #expect(trouble?.count == 1)
        #expect(try record?.refusal?.reason == "no network")
    }

    @Test func `a truncated session record does not decode`() throws {
        var whole = SessionRecord(session("1"), loggedInAt: noon)
        whole.refusal = .init(at: noon, reason: "refused")
        whole.trouble = .init(since: noon, count: 2)
        let bytes = whole.encryptedForm

        #expect(SessionRecord(encryptedForm: bytes) == whole)
        for count in bytes.indices {
            #expect(SessionRecord(encryptedForm: Array(bytes[..<count])) == nil, "\(count) bytes")
        }
        #expect(SessionRecord(encryptedForm: [9] + bytes.dropFirst()) == nil)
    }
}
