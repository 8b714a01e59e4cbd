import ClarityTestSupport
import Foundation
@testable import ProgramTestSupport
import Testing

/// `scripts/install` with the list in packaging/files.
@Suite("make install", .timeLimit(.minutes(2)))
struct InstallTests {
    private static let list = "\(Playground.root)/packaging/files"

    /// A release with the files of this project, and an empty file for each that a build makes.
    private func release() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        mkdir("\(folder.path)/Benchmarks", 0o755)
        for name in [
            "deploy", "docs", "packaging", "Examples", "jobs.yaml", "README.md", "CHANGELOG.md",
            "ARCHITECTURE.md", "CONTRIBUTING.md", "Benchmarks/RESULTS.md",
        ] {
            try FileManager.default.copyItem(
                atPath: "\(Playground.root)/\(name)", toPath: "\(folder.path)/\(name)")
        }
        for line in try lines() where line[2].hasPrefix("bin/") || line[2].hasPrefix("share/") {
            let name = line[2].replacing("*", with: "clarity-jobs")
            let path = URL(filePath: "\(folder.path)/\(name)")
            try FileManager.default.createDirectory(
                at: path.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data().write(to: path)
        }
        try Data().write(to: URL(filePath: "\(folder.path)/LICENSE"))
        return folder
    }

    /// The package, mode, source and target of each line of the list.
    private func lines() throws -> [[String]] {
        String(decoding: try TemporaryFolder.read(Self.list), as: UTF8.self).split(separator: "\n")
            .filter { !$0.hasPrefix("#") }.map { $0.split(separator: " ").map(String.init) }
    }

    private func run(
        _ words: String..., release: TemporaryFolder, to target: TemporaryFolder
    ) async throws -> ProgramResult {
        let program = try ChildProgram(
            "\(Playground.root)/scripts/install", words,
            environment: [
                "PATH": "/usr/bin:/bin", "DIST": release.path, "DESTDIR": target.path,
                "PREFIX": "/opt/clarity",
            ])
        return await program.finish()
    }

    @Test func `uninstall removes what install installed, and nothing else`() async throws {
        let release = try release()
        let target = try TemporaryFolder()
        let kept = ["etc", "etc/clarity-jobs"].map { "\(target.path)/\($0)" }
        for folder in kept { mkdir(folder, 0o755) }
        try target.write("etc/clarity-jobs/jobs.yaml", Array("version: 1\n".utf8))

        let installed = try await run("install", release: release, to: target)
        let there = try target.contents()
        let removed = try await run("uninstall", release: release, to: target)

        #expect(installed.status == 0 && installed.errors == "", "\(installed.errors)")
        #expect(there["opt/clarity/libexec/clarity-jobs/clarity-jobs-worker"] != nil)
        let unit = there["opt/clarity/lib/systemd/system/clarity-jobs.service"] ?? []
        #expect(
            String(decoding: unit, as: UTF8.self).contains(
                "ExecStart=/opt/clarity/bin/clarity-jobs "))
        #expect(removed.status == 0 && removed.errors == "", "\(removed.errors)")
        let left = try target.contents().keys.filter { $0.contains("clarity-jobs") }.sorted()
        #expect(left == ["etc/clarity-jobs", "etc/clarity-jobs/jobs.yaml"])
    }

    @Test func `a package has only its own files`() async throws {
        let release = try release()
        let target = try TemporaryFolder()

        _ = try await run("install", "clarity-jobs-web", release: release, to: target)

        let there = try target.contents().keys
        #expect(there.contains("opt/clarity/libexec/clarity-jobs/clarity-jobs-web"))
        #expect(!there.contains("opt/clarity/bin/clarity-jobs"))
    }

    @Test func `a release without a file is named, with what makes it`() async throws {
        let release = try TemporaryFolder()
        let target = try TemporaryFolder()

        let result = try await run("install", release: release, to: target)

        #expect(result.status == 66 && result.output == "")
        #expect(
            result.errors
                == "install: `\(release.path)/bin/clarity-jobs` is missing; run `make release` first\n"
        )
    }

    @Test func `every unit belongs to a package`() async throws {
        let release = try release()
        let target = try TemporaryFolder()

        _ = try await run(
            "install", "clarity-jobs", "clarity-jobs-web", release: release, to: target)

        let units = try FileManager.default.contentsOfDirectory(
            atPath: "\(Playground.root)/deploy/systemd"
        ).sorted()
        let installed = try target.contents().keys
        for unit in units {
            #expect(installed.contains { $0.hasSuffix("/systemd/system/\(unit)") }, "\(unit)")
        }
    }
}
