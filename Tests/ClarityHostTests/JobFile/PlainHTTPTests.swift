import ClarityScheduler
import Testing

@testable import ClarityHost

/// Tests the key that allows http to another machine.
@Suite struct PlainHTTPTests {
    private func read(_ target: String) throws -> JobFile {
        let section = SectionDeclaration(
            "told",
            .list(kinds: [
                "post": [
                    OptionDeclaration("url", .url, isRequired: true, summary: "where"),
                    OptionDeclaration(
                        OptionDeclaration.plainHTTP, .boolean, default: "false", summary: "whether"),
                ]
            ]))
        let reader = JobFileReader(
            catalogue: JobCatalogue(kinds: [.command], sections: [section]), zones: SampleZones(),
            home: "/home/ada", workingDirectory: "/etc", localZone: "UTC", host: "ada")
        let text = """
            version: 1
            told: [{ kind: post, \(target) }]
            jobs: [{ id: a, kind: command, options: { command: [x] } }]
            """
        return try reader.read(Array(text.utf8), path: "jobs.yaml")
    }

    @Test func `an entry may have an http address only if it says so`() throws {
        _ = try read("url: \"http://192.0.2.7/t\", allow_http: true")
        _ = try read("url: \"https://a.example/t\"")
        for refused in [
            "url: \"http://192.0.2.7/t\"", "url: \"http://192.0.2.7/t\", allow_http: false",
            "url: \"ftp://192.0.2.7/t\", allow_http: true",
        ] {
            #expect(throws: JobFileFaults.self, "\(refused)") { _ = try self.read(refused) }
        }
    }
}
