import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

@Suite("A spool folder in other hands", .timeLimit(.minutes(20)))
struct HostileSpoolTests {
    private static let sample = Array(
        #"{"kind":"heart_rate","start":"2026-01-02T03:10:05Z","value":61}"#.utf8)

    private static func playground() async throws -> Playground {
        let playground = try await Playground(sandboxOptions: ["--processing-steps", "1"]) {
            url, folder in
            """
            version: 1
            backend: { url: \(url), retry_wait: 1ms }
            sources: [ { kind: spool, path: \(folder)/spool } ]
            jobs:
              - { id: upload, kind: bulk-upload, schedule: { every: 1h } }

            """
        }
        mkdir("\(playground.folder.path)/spool", 0o700)
        try await playground.logIn()
        return playground
    }

    /// Returns the names in a folder without opening any file.
    private static func names(below folder: String) throws -> Set<String> {
        guard let listing = opendir(folder) else { throw TemporaryFolder.Errno(code: errno) }
        defer { closedir(listing) }
        var names: Set<String> = []
        while let entry = readdir(listing) {
            names.insert(
                withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                })
        }
        return names.subtracting([".", ".."])
    }

    @Test func `what is no file of the folder is neither read, waited for nor moved`() async throws
    {
        let playground = try await HostileSpoolTests.playground()
        let folder = playground.folder
        let outside = try folder.write("outside.ndjson", HostileSpoolTests.sample)
        let spool = "\(folder.path)/spool"
        try folder.write("spool/good.ndjson", HostileSpoolTests.sample)
        #expect(mkfifo("\(spool)/pipe.ndjson", 0o600) == 0)
        #expect(symlink(outside, "\(spool)/link.ndjson") == 0)
        #expect(symlink("/dev/zero", "\(spool)/zero.json") == 0)
        #expect(symlink("link-2.json", "\(spool)/link-2.json") == 0)
        #expect(mkdir("\(spool)/folder.json", 0o700) == 0)
        #expect(link(outside, "\(spool)/.hidden.json") == 0)
        // Creating a device needs rights that not every machine grants.
        let hasDevice = mknod("\(spool)/device.json", S_IFCHR | 0o600, 0x105) == 0

        let run = try await playground.run("run", "upload")

        #expect(run.status == 0, "\(run.errors)")
        #expect(try await playground.sandbox?.count("metrics") == 1)
        let names = try HostileSpoolTests.names(below: "\(spool)")
        for name in [
            "pipe.ndjson", "link.ndjson", "zero.json", "link-2.json", "folder.json", ".hidden.json",
        ]
            + (hasDevice ? ["device.json"] : [])
        {
            #expect(names.contains(name), "\(name)")
        }
        #expect(try HostileSpoolTests.names(below: "\(spool)/done") == ["good.ndjson"])
        #expect(try TemporaryFolder.read(outside) == HostileSpoolTests.sample)
    }

    @Test func `places for what was read that lead elsewhere are not followed`() async throws {
        let playground = try await HostileSpoolTests.playground()
        let folder = playground.folder
        mkdir("\(folder.path)/elsewhere", 0o700)
        #expect(symlink("../elsewhere", "\(folder.path)/spool/done") == 0)
        #expect(symlink("../elsewhere", "\(folder.path)/spool/rejected") == 0)
        try folder.write("spool/good.ndjson", HostileSpoolTests.sample)
        try folder.write("spool/bad.ndjson", Array("no\n".utf8))

        let run = try await playground.run("run", "upload")

        #expect(run.status < 128, "\(run.errors)")
        #expect(try HostileSpoolTests.names(below: "\(folder.path)/elsewhere") == [])
        #expect(TerminalSafetyTests.steering([("run", run)]) == [])
    }

    @Test func `names that steer a terminal come nowhere as they are`() async throws {
        let playground = try await HostileSpoolTests.playground()
        let attack = TerminalSafetyTests.attack
        for (number, content) in [HostileSpoolTests.sample, Array("{\"kind\":\"\(attack)\"}".utf8)]
            .enumerated()
        {
            try playground.folder.write("spool/\(number)\n\(attack).ndjson", content)
        }

        var shown: [(String, ProgramResult)] = []
        for words in [
            ["run", "upload"], ["history"], ["history", "show", "1"], ["sources"], ["doctor"],
            ["history", "show", "1", "--output", "json"], ["outbox"],
            ["import", "\(playground.folder.path)/spool/none\n\(attack).ndjson"],
        ] {
            let program = try playground.start(words)
            shown.append(("\(words.prefix(2))", await program.finish()))
        }

        #expect(TerminalSafetyTests.steering(shown) == [])
        #expect(shown[0].1.status == 0, "\(shown[0].1.errors)")
        #expect(try await playground.sandbox?.count("metrics") == 1)
    }

    @Test func `a folder of very many tiny files is worked through, a part at a time`() async throws
    {
        let playground = try await HostileSpoolTests.playground()
        let count = ChaosPlan.current.size(slice: 500, whole: 20_000)
        for number in 0..<count {
            let (minute, second) = (number / 60 % 60, number % 60)
            let (day, hour) = (1 + number / 86_400, number / 3600 % 24)
            func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
            try playground.folder.write(
                "spool/\(number).ndjson",
                Array(
                    """
                    {"kind":"heart_rate","start":"2026-01-\(two(day))T\(two(hour)):\(two(minute)):\
                    \(two(second))Z","value":61}

                    """.utf8))
        }

        var result = try await playground.run("run", "upload")
        var rounds = 1
        while try playground.waiting() > 0, rounds < 60 {
            result = try await playground.run("run", "upload")
            rounds += 1
        }

        #expect(result.status == 0, "\(result.errors)")
        #expect(try playground.waiting() == 0)
        let audit = try StateAudit(statePath: playground.statePath)
        #expect(audit.samples.values.reduce(0, +) == count)
        #expect(audit.damage == [])
        var line = ChaosLine("hostile-sources", measures: [.lost])
        line.rounds = count
        line.lost = max(0, count - audit.samples.values.reduce(0, +))
        line.faults["tiny-file"] = count
        line.tell()
    }
}

extension Playground {
    /// Returns the number of files that still wait in the spool folder.
    fileprivate func waiting() throws -> Int {
        guard let listing = opendir("\(folder.path)/spool") else {
            throw TemporaryFolder.Errno(code: errno)
        }
        defer { closedir(listing) }
        var count = 0
        while let entry = readdir(listing) {
            if entry.pointee.d_type == UInt8(DT_REG) { count += 1 }
        }
        return count
    }
}
