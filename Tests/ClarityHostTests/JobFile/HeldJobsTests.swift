import ClarityScheduler
import Glibc
import Testing

@testable import ClarityHost

/// Tests which faults hold one job or account, and which concern the whole file.
@Suite struct HeldJobsTests {
    private func reader(_ folder: String = "/etc") -> JobFileReader {
        var reader = JobFileReader(
            catalogue: JobFileSamples.catalogue, zones: SampleZones(), home: "/home/ada",
            workingDirectory: folder, localZone: "UTC", host: "ada")
        reader.holdsFaulty = true
        return reader
    }

    private func read(_ text: String) throws -> JobFile {
        try reader().read(Array(text.utf8), path: "jobs.yaml")
    }

    private let other = "\n  - { id: b, kind: cleanup, then: [a], options: { retain: 30d } }\n"

    @Test(arguments: [
        ("an unknown key", "colour: red"),
        ("a faulty schedule", "schedule: { cron: \"61 * * * *\" }"),
        ("a faulty option", "options: { page_size: many }"),
        ("an unknown group", "group: nas"),
        ("an unknown check", "constraints: { checks: [nas] }"),
        ("an unknown follower", "then: [c]"), ("itself as a follower", "then: [a]"),
        ("a key twice", "priority: low\npriority: high"),
    ])
    func `a fault of one job holds that job`(name: String, fault: String) throws {
        let file = try read(JobFileSamples.file(job: fault) + other)

        #expect(file.jobs.map(\.id.rawValue) == ["a", "b"])
        #expect(file.disabled.map(\.rawValue) == ["a"])
        #expect(file.held.keys.map(\.rawValue) == ["a"] && file.heldFaults.count == 1)
        #expect(file.enabledJobs.map(\.id.rawValue) == ["b"])
        #expect(file.enabledJobs.allSatisfy { $0.then.isEmpty })
    }

    @Test func `a job of an unknown kind, or without one, keeps its place`() throws {
        let text = JobFileSamples.file(job: "") + other
        let unknown = try read(text.replacing("kind: refresh", with: "kind: refesh"))
        let missing = try read(text.replacing("kind: refresh", with: "priority: low"))

        for file in [unknown, missing] {
            #expect(file.jobs.map(\.id.rawValue) == ["a", "b"])
            #expect(file.held.keys.map(\.rawValue) == ["a"])
        }
    }

    @Test(arguments: [
        ("an id twice", "\n  - { id: a, kind: cleanup, options: { retain: 30d } }\n", ""),
        ("a faulty id", "\n  - { id: \"-\", kind: cleanup, options: { retain: 30d } }\n", ""),
        ("no id", "\n  - { kind: cleanup, options: { retain: 30d } }\n", ""),
        ("a fault of defaults", "\n", "defaults: { overlap: often }"),
        ("an unknown key of the file", "\n", "colour: red"),
    ])
    func `any other fault concerns the whole file`(name: String, end: String, top: String) {
        #expect(throws: JobFileFaults.self) {
            _ = try self.read(JobFileSamples.file(job: "", top: top) + end)
        }
    }

    @Test func `without being asked to, the reader holds nothing`() {
        var reader = reader()
        reader.holdsFaulty = false
        let text = JobFileSamples.file(job: "colour: red")

        #expect(throws: JobFileFaults.self) {
            _ = try reader.read(Array(text.utf8), path: "jobs.yaml")
        }
    }

    @Test func `a fault of an account holds its jobs, also if its file is no YAML`() throws {
        try SampleFiles.withFolder { folder in
            let text = JobFileSamples.file(job: "", top: "accounts: accounts.d")
            try SampleFiles.write("\(folder)/jobs.yaml", Array(text.utf8))
            try #require(mkdir("\(folder)/accounts.d", 0o700) == 0)
            for (name, text) in [
                ("anna", "\n"), ("ben", "login: [\n"), ("cleo", "colour: red\n"),
                ("dora", "jobs: { a: { priority: often } }\n"), ("emil", "enabled: false\n"),
            ] {
                try SampleFiles.write("\(folder)/accounts.d/\(name).yaml", Array(text.utf8))
            }
            let memory = AccountMemory()

            let file = try reader(folder).read(fileAt: "jobs.yaml", remembering: memory)
            let again = try reader(folder).read(fileAt: "jobs.yaml", remembering: memory)

            let accounts = try #require(file.accounts)
            #expect(
                accounts.map(\.id.rawValue).sorted() == ["anna", "ben", "cleo", "dora", "emil"])
            let held = accounts.filter { $0.fault != nil }.map(\.id.rawValue).sorted()
            #expect(held == ["ben", "cleo", "dora"])
            #expect(file.groups.map(\.account?.rawValue) == ["anna"])
            #expect(file.heldFaults.count == 3 && again == file)
            let cleo = try #require(accounts.first { $0.id.rawValue == "cleo" })
            #expect(file.view(of: cleo).held.keys.map(\.rawValue) == ["cleo/a"])
        }
    }
}
