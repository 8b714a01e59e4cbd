import HealthStore
import HealthModel
@testable import Reports
import ClarityScheduler
import ClarityTestSupport

import JSON
import Testing

struct SessionReportTests {
    /// Its clock shows 2025-10-09T08:53:20Z.
    private let bench: StoreBench

    init() throws { bench = try StoreBench() }

    private var now: Instant { bench.clock.now }

    private func status() throws -> SessionStatus? { try SessionStatus(bench.store(), at: now) }

    private func session(_ token: String) -> Session {
        Session(
            userID: "u1", email: "ada@example.com", accessToken: Secret("MARKER-\(token)"),
            refreshToken: Secret("MARKER-\(token)"), expiresAt: now + .seconds(3600),
            backend: "http://b/api")
    }

    @Test func `a fresh login is told in five lines`() throws {
        try bench.store().sessions.save(session("1"), at: now)

        let status = try #require(try status())

        #expect(
            status.lines == [
                "logged in as ada@example.com (u1) until 2025-10-09T09:53:20Z",
                "backend: http://b/api",
                "renewed: not since the login at 2025-10-09T08:53:20Z",
                "last refusal: none",
                "logins left: 2 of 2",
            ])
        #expect(
            status.object.line == """
                {"email":"ada@example.com","user_id":"u1","backend":"http://b/api",\
                "expires_at":"2025-10-09T09:53:20Z","logged_in_at":"2025-10-09T08:53:20Z",\
                "renewed_at":null,"renewal_refused_since":null,"last_refusal":null,"logins_left":2,\
                "next_login_at":null}
                """)
    }

    @Test func `a session is written down without its tokens`() {
        let session = Session(
            userID: "u1", email: "a\u{1B}[2J\"@example.com", accessToken: Secret("MARKER"),
            refreshToken: Secret("MARKER"), expiresAt: Instant(secondsSince1970: 1_760_000_000))

        #expect(
            session.sentence
                == "logged in as a\u{FFFD}[2J\"@example.com (u1) until 2025-10-09T08:53:20Z")
    }

    @Test func `a session is reported with its renewals and refusals`() throws {
        let store = try bench.store()
        _ = try store.sessions.reserveLogin(email: "ada@example.com", at: now)
        _ = try store.sessions.reserveLogin(email: "ada@example.com", at: now)
        try store.sessions.save(session("1"), at: now)
        _ = try store.sessions.replace(session("1"), with: session("2"), at: now + .seconds(1))
        _ = try store.sessions.noteRefusal(
            "out of\u{1B} order", isTrouble: true, at: now + .seconds(2))

        let status = try #require(try status())

        #expect(
            Array(status.lines.dropFirst(2)) == [
                "renewed: 2025-10-09T08:53:21Z",
                "last refusal: 2025-10-09T08:53:22Z: out of\u{FFFD} order",
                "logins left: 0 of 2, the next at 2025-10-09T09:08:20Z",
            ])
        #expect(
            status.object.line.hasSuffix(
                """
                "renewed_at":"2025-10-09T08:53:21Z","renewal_refused_since":null,\
                "last_refusal":{"at":"2025-10-09T08:53:22Z",\
                "reason":"out of\\u001b order"},"logins_left":0,\
                "next_login_at":"2025-10-09T09:08:20Z"}
                """), "\(status.object.line)")
        #expect(!(status.object.line + status.lines.joined()).contains("MARKER"))
    }

    @Test(arguments: [
        (
            [Int](), 3600,
            "logged in as ada@example.com (u1); the access token expired at 2025-10-09T09:53:20Z and is renewed by the next job"
        ),
        (
            [3600, 3601], 9000,
            "logged in as ada@example.com (u1); the access token expired at 2025-10-09T09:53:20Z and has not been renewed since 2025-10-09T09:53:20Z"
        ),
        (
            [3600, 3601, 3602], 4500,
            "the backend has refused to renew the session of ada@example.com (u1) since 2025-10-09T09:53:20Z: jobs wait for a login; run `clarity-jobs auth login`"
        ),
    ])
    func `a session past its access token says so`(
        refusals: [Int], seconds: Int, line: String
    ) throws {
        let store = try bench.store()
        try store.sessions.save(session("1"), at: now)
        for second in refusals {
            _ = try store.sessions.noteRefusal("no", isTrouble: true, at: now + .seconds(second))
        }

        let status = try SessionStatus(store, at: now + .seconds(seconds))

        #expect(status?.lines.first == line)
    }

    @Test func `without a session, the report says why the last one ended`() throws {
        try bench.store().sessions.save(session("1"), at: now)
        _ = try bench.store().sessions.remove(session("1"), because: "refused", at: now)

        #expect(try status() == nil)
        #expect(
            try SessionStatus.farewell(bench.store(), at: now) == [
                "last refusal: 2025-10-09T08:53:20Z: refused", "logins left: 2 of 2",
            ])
    }

    @Test func `after a logout, nothing is reported about the session`() throws {
        try bench.store().sessions.save(session("1"), at: now)
        try bench.store().sessions.clear()

        #expect(try SessionStatus.farewell(bench.store(), at: now) == [])
    }

    // MARK: logging out

    @Test(
        arguments: [
            (
                "ada@example.com", 0,
                "Log out and remove all data of ada@example.com from this machine?"
            ),
            (nil, 0, "Log out and remove all data from this machine?"),
            (
                nil, 1,
                "1 sample was never sent to the backend and would be lost.\n"
                    + "Log out and remove all data from this machine?"
            ),
            (
                nil, 12,
                "12 samples were never sent to the backend and would be lost.\n"
                    + "Log out and remove all data from this machine?"
            ),
        ] as [(String?, Int64, String)])
    func `who logs out is told first what would be lost`(
        email: String?, unsent: Int64, question: String
    ) {
        #expect(LogoutReport.question(email: email, unsent: unsent) == question + " [y/N] ")
    }

    @Test func `the receipt names every kind, for people those that there were`() throws {
        let store = try bench.store()
        try store.sessions.save(session("1"), at: now)
        try bench.enqueue(0..<12)

        let receipt = try store.wipe()

        #expect(
            LogoutReport.lines(receipt) == [
                "logged out; removed:", "   1 session", "  12 samples",
            ])
        #expect(
            LogoutResult(receipt).object.line == """
                {"logged_out":true,"removed":{"sessions":1,"profiles":0,"samples":12,"uploads":0,\
                "metrics":0,"insights":0,"archived_versions":0,"sources":0,\
                "segments_of_records":0,"analyses":0}}
                """)
        #expect(LogoutResult(nil).object.line == #"{"logged_out":true,"removed":null}"#)
    }
}
