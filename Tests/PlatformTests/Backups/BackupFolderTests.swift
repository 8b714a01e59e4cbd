import ClarityScheduler
import ClarityTestSupport
@preconcurrency import Glibc
import Testing

@testable import Platform

@Suite struct BackupFolderTests {
    private let folder: TemporaryFolder
    private var state: String { "\(folder.path)/state" }
    private var backups: BackupFolder { BackupFolder(ofState: state) }

    init() throws { folder = try TemporaryFolder() }

    private struct Refusal: Error {}

    private func make(
        _ reason: BackupManifest.Reason = .asked, at seconds: Int64, keep: Int = 7,
        sizeBytes: Int64 = 0, in chosen: BackupFolder? = nil, key: String = "k"
    ) throws -> Backup {
        try (chosen ?? backups).make(
            reason, at: Instant(secondsSince1970: seconds), key: key, sizeBytes: sizeBytes,
            keep: keep
        ) { draft in
            try DurableFile.write("content \(seconds)", to: "\(draft)/health.db")
            return [("health.db", 3)]
        }
    }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    @Test func `a backup is what was written, and closed to others whatever the umask`() throws {
        let former = umask(0)
        defer { umask(former) }

        let backup = try make(at: 1_000)

        #expect(backup.name == "19700101T001640Z")
        #expect(backup.manifest.files.map(\.version) == [3])
        try backup.verify()
        #expect(mode(backups.path) == 0o700 && mode(backup.path) == 0o700)
        for name in ["health.db", "manifest"] { #expect(mode("\(backup.path)/\(name)") == 0o600) }
    }

    @Test func `backups of the same second get different names, newest first`() throws {
        let names = try (0..<3).map { _ in try make(at: 5).name } + [try make(at: 9).name]

        #expect(names[1] == "\(names[0])-2" && names[2] == "\(names[0])-3")
        let listed = try backups.entries().compactMap { $0.backup?.name }
        #expect(listed == [names[3], names[2], names[1], names[0]])
    }

    @Test func `the newest of each reason stay`() throws {
        for second in 1...4 { _ = try make(.beforeMigration, at: Int64(second), keep: 2) }
        for second in 5...9 { _ = try make(at: Int64(second), keep: 3) }

        let seconds = try backups.entries().compactMap {
            $0.backup?.manifest.madeAt.secondsSince1970
        }
        #expect(seconds == [9, 8, 7, 4, 3])
    }

    @Test func `a backup that fails leaves nothing, and neither does one that was killed`() throws {
        _ = try make(at: 1)
        mkdir("\(backups.path)/.draft-killed", 0o700)
        try folder.write("state/backups/.draft-killed/health.db", [1, 2, 3])

        #expect(throws: Refusal.self) {
            try backups.make(
                .asked, at: Instant(secondsSince1970: 2), key: nil, sizeBytes: 0, keep: 7
            ) { draft in
                try DurableFile.write("half", to: "\(draft)/health.db")
                throw Refusal()
            }
        }

        #expect(try DurableFile.names(in: backups.path) == ["19700101T000001Z"])
    }

    @Test func `a folder that a person names may be reached over a link`() throws {
        mkdir("\(folder.path)/real", 0o700)
        symlink("real", "\(folder.path)/link")
        let linked = BackupFolder(at: "\(folder.path)/link")

        for second in 1...3 { _ = try make(at: Int64(second), keep: 2, in: linked) }

        #expect(try linked.entries().compactMap { $0.backup?.name }.count == 2)
    }

    @Test func `a draft that somebody planted leads nowhere and stops nothing`() throws {
        let elsewhere = "\(folder.path)/elsewhere"
        mkdir(elsewhere, 0o700)
        try folder.write("elsewhere/theirs", [1])
        _ = try make(at: 1)
        symlink(elsewhere, "\(backups.path)/.draft-a-link")
        try folder.write("state/backups/.draft-file", [1])
        mkdir("\(backups.path)/.draft-deep", 0o700)
        mkdir("\(backups.path)/.draft-deep/inner", 0o700)
        try folder.write("state/backups/.draft-deep/inner/file", [1])
        symlink(elsewhere, "\(backups.path)/.draft-deep/inner/link")

        let made = Result { try make(at: 2) }

        #expect(throws: Never.self) { try made.get() }
        #expect(try TemporaryFolder.read("\(elsewhere)/theirs") == [1])
        #expect(
            try DurableFile.names(in: backups.path) == ["19700101T000001Z", "19700101T000002Z"])
    }

    @Test func `the backup just made stays, whatever the clock said before`() throws {
        _ = try make(at: 100, keep: 1)
        let second = Result { try make(at: 50, keep: 1) }

        #expect(throws: Never.self) { try second.get() }
        #expect(try backups.entries().compactMap { $0.backup?.name } == ["19700101T000050Z"])
    }

    @Test func `two owners that share a folder each keep their own backups`() throws {
        let shared = BackupFolder(at: "\(folder.path)/shared")
        for second in 1...3 {
            _ = try make(at: Int64(second), keep: 2, in: shared, key: "one")
            _ = try make(at: Int64(second), keep: 2, in: shared, key: "other")
        }

        let keys = try shared.entries().compactMap { $0.backup?.manifest.key }
        #expect(keys.sorted() == ["one", "one", "other", "other"])
    }

    @Test func `less room than it wants is refused before anything is written`() throws {
        let error = #expect(throws: BackupError.self) { try make(at: 1, sizeBytes: .max / 2) }

        guard case .noRoom(let path, let wanted, let free)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(path == backups.path && wanted == .max / 2 && free >= 0)
        #expect(error?.isDisk == true)
        #expect(try DurableFile.names(in: backups.path) == [])
    }

    @Test func `a changed byte, size or name is found`() throws {
        let backup = try make(at: 1)
        let path = "\(backup.path)/health.db"
        let content = try TemporaryFolder.read(path)

        try folder.write("state/backups/\(backup.name)/health.db", [0] + content.dropFirst())
        #expect(throws: BackupError.self) { try backup.verify() }
        #expect(throws: BackupError.self) {
            try backup.copy(backup.manifest.files[0], to: "\(folder.path)/copy")
        }
        try folder.write("state/backups/\(backup.name)/health.db", content + [0])
        #expect(throws: BackupError.self) { try Backup(at: backup.path) }
        unlink(path)
        symlink("/etc/passwd", path)
        #expect(throws: BackupError.self) { try Backup(at: backup.path) }
        guard case .faulty(let name, _)? = try backups.entries().first else {
            Issue.record("the damaged backup is not listed")
            return
        }
        #expect(name == backup.name)
    }

    @Test(arguments: ["a link", "a pipe", "a file"])
    func `a link, a pipe or a file in place of the folder takes no backup`(kind: String) throws {
        mkdir(state, 0o700)
        let elsewhere = "\(folder.path)/elsewhere"
        mkdir(elsewhere, 0o700)
        switch kind {
        case "a link": symlink(elsewhere, backups.path)
        case "a pipe": mkfifo(backups.path, 0o600)
        default: try folder.write("state/backups", [])
        }

        #expect(throws: BackupError.self) { try make(at: 1) }
        #expect(try DurableFile.names(in: elsewhere) == [])
    }
}
