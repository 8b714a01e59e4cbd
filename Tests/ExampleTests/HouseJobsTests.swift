import ClarityTestSupport
import Testing

@Suite("The example of another program on the same engine")
struct HouseJobsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func look() async throws -> ProgramResult {
        try await ChildProgram.run(
            "\(ChildProgram.folder)/house-jobs",
            [HouseJobsTests.jobFile, "\(folder.path)/state"], environment: ["TZ": "UTC"])
    }

    @Test func `the example runs due jobs and says what waits`() async throws {
        let result = try await look()

        // Both jobs run at the same time, and either may finish first.
        #expect(
            result.outputLines.prefix(2).sorted() == [
                "pumpkins: enqueued: the tank is too empty",
                "tomatoes: succeeded: 10 litres given",
            ])
        #expect(result.outputLines.dropFirst(2) == ["pumpkins waits for: backoff"])
        #expect(result.errors == "")
        #expect(result.status == 0)
    }

    @Test func `a second run knows what the first has done`() async throws {
        _ = try await look()

        let result = try await look()

        #expect(result.outputLines == ["pumpkins waits for: backoff"])
        #expect(result.status == 0)
    }

    /// The job file that ships with the example.
    private static var jobFile: String {
        let root = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined()
        return "\(root)/Examples/HouseJobs/jobs.yaml"
    }
}
