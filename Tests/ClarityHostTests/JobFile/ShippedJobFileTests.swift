import ClarityHost
import ClarityScheduler
import Testing

@Suite struct ShippedJobFileTests {
    @Test func `the shipped job file declares the five jobs`() throws {
        let path = try #require(
            #filePath.firstRange(of: "/Tests/ClarityHostTests/").map {
                #filePath[..<$0.lowerBound] + "/jobs.yaml"
            })
        let bytes = try SampleFiles.read(String(path))

        let file = try JobFileSamples.reader().read(bytes, path: "jobs.yaml")

        #expect(
            file.jobs.map { "\($0.id): \($0.kind)" } == [
                "com.clarity.refresh: refresh", "com.clarity.healthkit.upload: bulk-upload",
                "com.clarity.processing-status: processing-status",
                "com.clarity.insights: insight-history", "com.clarity.cleanup: cleanup",
            ])
        #expect(file.jobs.map(\.retry) == Array(repeating: RetryPolicy(), count: 5))
        #expect(file.jobs[1].constraints == [.unmetered, .batteryAbove(percent: 20), .idle])
        #expect(file.jobs[1].then == [file.jobs[2].id])
        #expect(file.sections.options["sources.0.path"] == "/home/ada/Health/export.zip")
        #expect(file.sections.options["backend.url"] == "http://127.0.0.1:8787/api/v1")
        #expect(file.disabled.isEmpty)
    }
}
