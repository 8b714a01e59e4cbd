import ClarityTestSupport
import Foundation
@testable import ProgramTestSupport
import Testing

/// What `init` has installed goes, and what is the person's own stays. crontab(1) and systemctl(1)
/// are scripts, so that no test changes those of whoever runs it.
@Suite("uninstall", .timeLimit(.minutes(5)))
struct UninstallProgramTests {
    private let home: ArchiveOnlyProgramTests.Home
    private var crontab: String { "\(home.folder)/crontab.txt" }
    private var units: String { "\(home.folder)/.config/systemd/user" }

    init() async throws {
        home = try await ArchiveOnlyProgramTests.Home()
        try home.playground.writeExport(heartRates: 3)
        try home.playground.folder.write(
            "crontab",
            Array(
                """
                #!/bin/sh
                case $1 in
                    -) exec cat > \(home.folder)/crontab.txt ;;
                    -r) exec rm \(home.folder)/crontab.txt ;;
                esac
                cat \(home.folder)/crontab.txt 2> /dev/null || { echo no crontab for you >&2; exit 1; }

                """.utf8))
        // There is no service but those in the home folder.
        try home.playground.folder.write(
            "systemctl",
            Array(
                """
                #!/bin/sh
                echo "$@" >> \(home.folder)/systemctl.txt
                case $* in *cat*) exit 1 ;; esac

                """.utf8))
        for name in ["crontab", "systemctl"] { chmod("\(home.folder)/\(name)", 0o700) }
    }

    private func run(_ words: String...) async throws -> ProgramResult {
        try await ChildProgram.run(
            "\(ChildProgram.folder)/clarity-jobs", words,
            environment: home.environment.merging([
                "PATH": "\(home.folder):/usr/bin:/bin", "CLARITY_JOBS_CONFIG": home.jobFile,
            ]) { $1 })
    }

    private func setUp(_ starter: String) async throws {
        let result = try await run(
            "init", "--archive-only", "\(home.folder)/export.xml", "--start", starter)
        try #require(result.status == 0, "\(result.errors)")
    }

    @Test(arguments: ["7 * * * *  true\n", ""])
    func `the line of the crontab goes, and the others, the data and the job file stay`(
        others: String
    ) async throws {
        if !others.isEmpty { try others.write(toFile: crontab, atomically: false, encoding: .utf8) }
        try await setUp("cron")
        let during = try home.text(of: crontab)

        let result = try await run("uninstall")
        let isLeft = access(crontab, F_OK) == 0
        let after = isLeft ? try home.text(of: crontab) : ""
        let records = try await run("records")
        let again = try await run("uninstall")

        #expect(during.hasPrefix(others) && during.contains("run --due --config"))
        #expect(result.status == 0, "\(result.errors)")
        #expect(after == others && isLeft == !others.isEmpty)
        for line in [
            "removed: the line of your crontab that starts the jobs of \(home.jobFile)",
            "stays: the job file \(home.jobFile)", "stays: history and data in \(home.state)",
            "the data, \(home.state)/keys/master.key",
        ] { #expect(result.errors.contains(line), "\(line): \(result.errors)") }
        #expect(records.output.contains("HeartRate"), "\(records.errors)")
        #expect(again.status == 0, "\(again.errors)")
        #expect(again.errors.contains("nothing that `init` installed starts \(home.jobFile)"))
    }

    @Test func `the service of the person's own systemd goes with its units`() async throws {
        try await setUp("systemd")
        try home.playground.folder.write("systemctl.txt", [])
        try "[Service]\n".write(
            toFile: "\(units)/other.service", atomically: false, encoding: .utf8)
        let before = try FileManager.default.contentsOfDirectory(atPath: units).sorted()

        let result = try await run("uninstall")
        let calls = try home.text(of: "\(home.folder)/systemctl.txt")
        let after = try FileManager.default.contentsOfDirectory(atPath: units)

        #expect(
            before == ["clarity-jobs-failed@.service", "clarity-jobs.service", "other.service"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(
            calls == "--user disable --now --quiet clarity-jobs.service\n--user daemon-reload\n")
        #expect(after == ["other.service"])
        #expect(access(home.jobFile, F_OK) == 0 && access(home.state, F_OK) == 0)
    }

    @Test func `the service of another job file stays`() async throws {
        try await setUp("systemd")
        let other = try await run("uninstall", "--config", "\(home.folder)/other.yaml")

        #expect(other.status == 0, "\(other.errors)")
        #expect(access("\(units)/clarity-jobs.service", F_OK) == 0)
        #expect(other.errors.contains("nothing that `init` installed starts \(home.folder)/other"))
    }

    @Test func `the service of the package is disabled, although nobody can be asked to stop it`()
        async throws
    {
        try await setUp("none")
        let wants = "\(units)/default.target.wants"
        try FileManager.default.createDirectory(
            atPath: wants, withIntermediateDirectories: true)
        symlink("/usr/lib/systemd/user/clarity-jobs.service", "\(wants)/clarity-jobs.service")
        try home.playground.folder.write("systemctl", Array("#!/bin/sh\nexit 1\n".utf8))

        let result = try await run("uninstall")

        #expect(result.status == 0, "\(result.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: wants) == [])
        #expect(result.errors.contains("it may still run until you log out"), "\(result.errors)")
    }
}
