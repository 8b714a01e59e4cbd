@testable import Backend
@testable import BackendContract
import HealthModel
import ClarityScheduler

import ClarityTestSupport
@testable import ClarityJobs
import Testing

struct StoredSessionsTests {
    private let bench = WorkBench()

    private func sessions(
        at backend: String = WorkBench.url, withCredential: Bool = true
    ) throws -> StoredSessions {
        let folder = try TemporaryFolder()
        try folder.write("clarity-jobs.password", Array("PASSWORD\n".utf8))
        let sessions = StoredSessions(
            try bench.store(), backend: backend,
            environment: withCredential ? ["CREDENTIALS_DIRECTORY": folder.path] : [:])
        credentials.append(folder)
        return sessions
    }

    private let credentials = Folders()

    /// Keeps folders until the test ends.
    private final class Folders {
        private var folders: [TemporaryFolder] = []
        func append(_ folder: TemporaryFolder) { folders.append(folder) }
    }

    @Test func `who logged in last can be logged in again with the credential`() throws {
        try bench.logIn()

        let known = try sessions().credentials()
        let elsewhere = try sessions(at: "http://127.0.0.1:9/api/v2").credentials()
        let person = try sessions(withCredential: false).credentials()

        #expect(known?.email == "demo@example.com" && known?.password == Secret("PASSWORD"))
        #expect(elsewhere == nil && person == nil)
    }

    @Test func `who logs out while a job logs in again stays out`() async throws {
        try bench.logIn(expiresIn: .zero)
        let sessions = try sessions()
        let answer = """
            {"user":{"user_id":"\(WorkBench.user)","email":"demo@example.com"},\
            "tokens":{"access_token":"new-access","refresh_token":"new-refresh",\
            "token_type":"bearer","expires_in":3600}}
            """
        let transport = ScriptedBackend { request throws(TransportError) in
            if request.url.hasSuffix("/auth/refresh") { return .status(401) }
            do { try sessions.clear() } catch { throw .offline }
            return .status(200, answer)
        }
        let client = APIClient(
            base: WorkBench.url, dialect: .blueprint, transport: transport, sessions: sessions,
            clock: bench.clock)

        await #expect(throws: APIError.self) { try await client.session() }

        #expect(transport.requests.count == 2)
        #expect(try sessions.load() == nil)
    }

    @Test func `nobody is logged in again before the first login and after a logout`() throws {
        let before = try sessions().credentials()
        try bench.logIn()

        try sessions().clear()

        #expect(before == nil)
        #expect(try sessions().credentials() == nil)
    }
}
