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

    private func job(_ options: String) throws -> JobFile {
        let kind = JobKindDeclaration(
            JobKind("post"), summary: "posts",
            options: [
                OptionDeclaration("url", .endpoint, isRequired: true, summary: "where"),
                OptionDeclaration("secret", .secretName, summary: "which"),
                OptionDeclaration(
                    OptionDeclaration.plainHTTP, .boolean, default: "false", summary: "whether"),
            ], addressKey: "url")
        let reader = JobFileReader(
            catalogue: JobCatalogue(kinds: [kind], sections: []), zones: SampleZones(),
            home: "/home/ada", workingDirectory: "/etc", localZone: "UTC", host: "ada")
        let text = """
            version: 1
            jobs: [{ id: a, kind: post, options: { \(options) } }]
            """
        return try reader.read(Array(text.utf8), path: "jobs.yaml")
    }

    @Test func `a job has an address of http or mqtt by the same rule`() throws {
        for taken in [
            "url: \"http://192.0.2.7/t\", allow_http: true", "url: \"https://a.example\"",
            "url: \"http://127.0.0.1:8086\"", "url: \"mqtt://192.0.2.7\"",
            "url: \"MQTTS://a.example:8883\"",
        ] {
            #expect(throws: Never.self, "\(taken)") { _ = try self.job(taken) }
        }
        for refused in [
            "url: \"http://192.0.2.7/t\"", "url: \"mqtt://\"", "url: \"mqtt://a:b@a.example\"",
            "url: \"ftp://192.0.2.7/t\", allow_http: true",
        ] {
            #expect(throws: JobFileFaults.self, "\(refused)") { _ = try self.job(refused) }
        }
    }

    @Test func `a broker elsewhere needs a network, and a secret is known as one`() throws {
        let elsewhere = try job("url: \"mqtt://192.0.2.7\", secret: PASSWORD")
        let here = try job("url: \"mqtt://localhost:1883\"")

        #expect(elsewhere.jobs[0].constraints == [.connected])
        #expect(elsewhere.secretVariables == ["PASSWORD"])
        #expect(here.jobs[0].constraints.isEmpty && here.secretVariables.isEmpty)
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
