import ClarityTestSupport
import Foundation
import Glibc
@testable import ProgramTestSupport
import Testing

@testable import clarity_jobs

/// The files in deploy/, as the programs that read them judge them.
@Suite("The files for an installation", .timeLimit(.minutes(2)))
struct DeployedFilesTests {
    private static let folder = "\(Playground.examples)/../deploy"

    /// The units of the system and, in a folder of their own, those of a user.
    private static let units: [String] = ["systemd", "user"].flatMap { kind in
        do {
            return try FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(kind)").sorted()
                .map { "\(kind)/\($0)" }
        } catch {
            return ["\(kind)/: \(error)"]
        }
    }

    /// Copies all units into a folder, with a program that exists, and returns the path of one of
    /// them; of a template, an instance.
    ///
    /// - Parameter isComplete: whether every setting is in force that the comments propose.
    private func copy(_ name: String, to target: TemporaryFolder, isComplete: Bool) throws -> String
    {
        for unit in Self.units where unit.hasPrefix(name.prefix { $0 != "/" }) {
            var text = String(
                decoding: try TemporaryFolder.read("\(Self.folder)/\(unit)"), as: UTF8.self
            ).replacing("/usr/local/bin/clarity-jobs", with: "/usr/bin/true")
            if isComplete {
                text.replace("\n#LoadCredential", with: "\nLoadCredential")
                text.replace("\n#ReadWritePaths", with: "\nReadWritePaths")
            }
            try target.write(URL(filePath: unit).lastPathComponent, Array(text.utf8))
        }
        let file = URL(filePath: name).lastPathComponent
        return "\(target.path)/\(file.replacing("@.", with: "@anna."))"
    }

    /// Each unit as it is shipped, and with every setting that its comments propose.
    @Test(
        .enabled(if: access("/usr/bin/systemd-analyze", X_OK) == 0, "no systemd-analyze"),
        arguments: units, [false, true])
    func `systemd accepts the units`(name: String, isComplete: Bool) async throws {
        let folder = try TemporaryFolder()
        let path = try copy(name, to: folder, isComplete: isComplete)
        let manager = name.hasPrefix("user/") ? ["--user"] : []

        let result = try await ChildProgram.run(
            "/usr/bin/systemd-analyze", ["verify", "--man=no"] + manager + [path],
            environment: ["XDG_RUNTIME_DIR": folder.path, "HOME": folder.path])

        #expect(result.status == 0 && result.errors == "", "\(result.errors)")
    }

    private static let kubernetes = "\(Playground.root)/.build/fhir/bin/kubernetes-validate"

    @Test(.enabled(if: access(kubernetes, X_OK) == 0, "no kubernetes-validate"))
    func `the schemas of Kubernetes accept the manifests`() async throws {
        let result = try await ChildProgram.run(
            Self.kubernetes, ["--strict", "\(Self.folder)/kubernetes/clarity-jobs.yaml"],
            environment: ["PATH": "/usr/bin:/bin"])

        #expect(result.status == 0, "\(result.output)\(result.errors)")
    }

    /// A program in a user's own service manager may do whatever the user may, so it has no bound.
    @Test(
        .enabled(if: access("/usr/bin/systemd-analyze", X_OK) == 0, "no systemd-analyze"),
        arguments: units.filter { $0.hasPrefix("systemd/") && $0.hasSuffix(".service") })
    func `each service is exposed to less than 1_5`(name: String) async throws {
        let folder = try TemporaryFolder()
        let path = try copy(name, to: folder, isComplete: true)

        let result = try await ChildProgram.run(
            "/usr/bin/systemd-analyze",
            ["security", "--offline=yes", "--threshold=14", "--no-pager", path])

        #expect(result.status == 0, "\(result.outputLines.last ?? result.errors)")
    }

    /// The units of a person's instance differ from those of the machine's service in the names of the
    /// user and of its files alone.
    @Test(arguments: [
        ("clarity-jobs.service", "clarity-jobs@.service"),
        ("clarity-jobs-run.service", "clarity-jobs-run@.service"),
        ("clarity-jobs-run.timer", "clarity-jobs-run@.timer"),
        ("clarity-jobs-failed@.service", "clarity-jobs-failed-for@.service"),
    ])
    func `an instance is set up as the service is`(service: String, instance: String) throws {
        func settings(_ name: String) throws -> [String] {
            String(
                decoding: try TemporaryFolder.read("\(Self.folder)/systemd/\(name)"), as: UTF8.self
            ).split(separator: "\n").map(String.init).filter {
                !$0.hasPrefix("Description=") && !$0.hasPrefix("Group=")
                    && !$0.hasPrefix("ConditionPathExists=")
            }
        }
        let expected = try settings(service).map {
            $0.replacing("User=clarity-jobs", with: "User=%i")
                .replacing("StateDirectory=clarity-jobs", with: "StateDirectory=clarity-jobs-%i")
                .replacing("/etc/clarity-jobs/", with: "/etc/clarity-jobs/%i/")
                .replacing(
                    "clarity-jobs-failed@%n.service", with: "clarity-jobs-failed-for@%i.service"
                )
                .replacing("clarity-jobs-run.timer", with: "clarity-jobs-run@%i.timer")
        }

        #expect(try settings(instance) == expected)
    }

    /// `CLARITY_WRITE_DOCS=1` writes the units that packages have.
    @Test func `packages have the user units that init writes`() throws {
        let units = [
            "clarity-jobs.service": UserService.loop(
                program: "/usr/local/bin/clarity-jobs", jobFile: "%E/clarity-jobs/jobs.yaml"),
            "clarity-jobs-failed@.service": UserService.failed(
                program: "/usr/local/bin/clarity-jobs", jobFile: "%E/clarity-jobs/jobs.yaml"),
        ]
        for (name, text) in units {
            let path = "\(Self.folder)/user/\(name)"
            if getenv("CLARITY_WRITE_DOCS") != nil {
                try text.write(toFile: path, atomically: false, encoding: .utf8)
            }
            #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
        }
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
