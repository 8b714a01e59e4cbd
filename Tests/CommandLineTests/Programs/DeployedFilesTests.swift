import ClarityTestSupport
import Glibc
@testable import ProgramTestSupport
import Testing

/// The files in deploy/, as the programs that read them judge them.
@Suite("The files for an installation", .timeLimit(.minutes(2)))
struct DeployedFilesTests {
    private static let folder = "\(Playground.examples)/../deploy"

    /// Each unit as it is shipped, and with every setting that its comments propose.
    @Test(
        .enabled(if: access("/usr/bin/systemd-analyze", X_OK) == 0, "no systemd-analyze"),
        arguments: [
            "clarity-jobs.service", "clarity-jobs-run.service", "clarity-jobs-run.timer",
            "clarity-jobs-exporter.service", "clarity-jobs-receive.service",
            "clarity-jobs-web.service",
        ], [false, true])
    func `systemd accepts the units`(name: String, isComplete: Bool) async throws {
        let folder = try TemporaryFolder()
        var text = String(
            decoding: try TemporaryFolder.read("\(Self.folder)/systemd/\(name)"), as: UTF8.self
        ).replacing("/usr/local/bin/clarity-jobs", with: "/usr/bin/true")
        if isComplete {
            text.replace("\n#LoadCredential", with: "\nLoadCredential")
            text.replace("\n#ReadWritePaths", with: "\nReadWritePaths")
        }
        try folder.write(name, Array(text.utf8))
        if name.hasSuffix(".timer") {
            try folder.write(
                "clarity-jobs-run.service", Array("[Service]\nExecStart=/usr/bin/true\n".utf8))
        }

        let result = try await ChildProgram.run(
            "/usr/bin/systemd-analyze", ["verify", "--man=no", "\(folder.path)/\(name)"])

        #expect(result.status == 0 && result.errors == "", "\(result.errors)")
    }

    @Test(.enabled(if: access("/usr/sbin/visudo", X_OK) == 0, "no visudo"))
    func `sudo accepts the rule`() async throws {
        let result = try await ChildProgram.run(
            "/usr/sbin/visudo", ["-cf", "\(Self.folder)/sudo/clarity-jobs"])

        #expect(result.status == 0, "\(result.errors)")
    }

    /// The pattern is one of regex(7), so grep(1) judges it as sudo does.
    @Test(arguments: [
        ("status", true), ("status -o json", true), ("history show 42", true),
        ("metrics heart_rate", true), ("explain com.clarity.refresh", true),
        ("status --config /tmp/jobs.yaml", false), ("status -c/tmp/jobs.yaml", false),
        ("history show 42 --state /tmp", false), ("metrics heart_rate --config x", false),
        ("run upload", false), ("auth logout", false), ("key rotate", false), ("loop", false),
    ])
    func `the rule of sudo allows reading only`(words: String, isAllowed: Bool) async throws {
        let rule = String(
            decoding: try TemporaryFolder.read("\(Self.folder)/sudo/clarity-jobs"), as: UTF8.self)
        let start = try #require(rule.firstIndex(of: "^"))
        let pattern = rule[start...].prefix { $0 != "\n" }

        let result = try await ChildProgram.run(
            "/bin/grep", ["-qE", String(pattern)], input: "\(words)\n")

        #expect((result.status == 0) == isAllowed)
    }
}
