import ClarityScheduler
import ClarityTestSupport
import Platform
import Testing

@testable import HealthStore

@Suite("Tokens of programs")
struct BearerTokensTests {
    @Test func `a token that the file has no room for is refused, and the others stay`() throws {
        let folder = try TemporaryFolder()
        let tokens = BearerTokens.ofRuns(stateDirectory: folder.path)
        let jobs = try (100..<200).map {
            try #require(JobID("\(String(repeating: "x", count: 90))-\($0)"))
        }
        var made: [String] = []
        var refusal: BackupError?

        while refusal == nil, made.count < 20 {
            let token: String?
            do throws(BackupError) {
                token = try tokens.add("token-\(made.count)", mayRun: jobs, at: .noon)
            } catch {
                refusal = error
                continue
            }
            made.append(try #require(token))
        }

        // A line has 9,594 bytes: six fit into 65,536.
        #expect(made.count == 6)
        let path = "\(folder.path)/pages/run-tokens"
        let words = refusal?.description ?? ""
        #expect(
            words == "cannot use `\(path)`: it would have 67158 bytes, and at most 65536 are read; "
                + "remove a token, or name fewer jobs")
        #expect(try tokens.list().map(\.name) == (0..<6).map { "token-\($0)" })
        #expect(try made.allSatisfy { try tokens.entry(of: $0)?.jobs.count == 100 })
        #expect(try tokens.revoke("token-0"))
        #expect(try tokens.add("token-6", mayRun: jobs, at: .noon) != nil)
    }
}
