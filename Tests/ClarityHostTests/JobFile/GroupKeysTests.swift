@testable import ClarityHost
import ClarityScheduler
import Testing

@Suite("The groups of a job file")
struct GroupKeysTests {
    private let top = """
        groups:
          nas: { at_once: 1 }
          api: { at_once: 4, per: 10 per 1m }
        """

    private func faults(_ keys: String, top: String) throws -> [String] {
        let error = #expect(throws: JobFileFaults.self) {
            try JobFileSamples.read(JobFileSamples.file(job: keys, top: top))
        }
        return try #require(error).faults.map { fault in
            fault.message + (fault.help.map { "; \($0)" } ?? "")
        }
    }

    @Test(arguments: [("nas", ["nas"]), ("[api, nas]", ["api", "nas"]), ("[]", [])])
    func `a job names one group, some or none`(written: String, names: [String]) throws {
        let file = try JobFileSamples.read(JobFileSamples.file(job: "group: \(written)", top: top))

        let known = [
            "nas": LimitGroup("nas", atOnce: 1),
            "api": LimitGroup("api", atOnce: 4, rate: Rate(10, per: .seconds(60))),
        ]
        #expect(file.jobs.first?.groups == names.compactMap { known[$0] })
    }

    @Test(arguments: [
        ("group: nsa", "unknown group `nsa` in job `a`; did you mean `nas`?"),
        (
            "group: disk",
            "unknown group `disk` in job `a`; the file declares `nas` and `api`"
        ),
        ("group: [nas, nas]", "`group` of job `a` has `nas` twice"),
    ])
    func `a job names known groups only, and each once`(keys: String, fault: String) throws {
        #expect(try faults(keys, top: top) == [fault])
    }

    @Test func `a job names its machine, an account all of its jobs, and the file its labels`()
        throws
    {
        let top = """
            labels: [gpu, clinic]
            accounts: [{ id: ada, machine: nas-1 }, { id: eve, jobs: { a: { machine: gpu } } }]
            """
        let file = try JobFileSamples.read(
            JobFileSamples.file(job: "machine: clinic", top: top))

        #expect(file.labels == ["gpu", "clinic"])
        #expect(file.jobs.map(\.machine) == ["clinic"])
        #expect(file.groups.map { $0.jobs.map(\.machine) } == [["nas-1"], ["gpu"]])
    }

    @Test func `a file without groups says where they are declared`() throws {
        #expect(
            try faults("group: nas", top: "") == [
                "unknown group `nas` in job `a`; the file declares none; declare it under `groups`"
            ])
    }

    @Test(arguments: [
        (
            "nas: {}",
            "group `nas` has none of `at_once` and `per`; write `{ at_once: 1 }`, "
                + "`{ per: 10 per 1m }` or both"
        ),
        ("nas: { per: 10 }", "per `10` is not a rate; write it as `1 per 6h`"),
        (
            "nas: { per: 10 per 120d }",
            "group `nas` counts the starts within `120d`, and the history keeps a run for `90d`; "
                + "raise `keep_for` of `history` in `store`"
        ),
        (
            "'n s': { at_once: 1 }",
            "group name `n s` is not allowed; a name is 1 to 64 letters, digits, `-`, `_` or `.`"
        ),
    ])
    func `a group has a name and limits that the history can prove`(
        group: String, fault: String
    ) throws {
        #expect(try faults("", top: "groups: { \(group) }") == [fault])
    }

    @Test func `the history keeps as many runs as a group counts starts`() throws {
        let top = """
            store: { history: { keep_runs: 5 } }
            groups: { nas: { per: 10 per 1h } }
            """

        #expect(
            try faults("group: nas", top: top) == [
                "group `nas` counts `10` starts, and the history keeps `5` runs of a job; "
                    + "raise `keep_runs` of `history` in `store`"
            ])
    }
}
