import ClarityScheduler
import Platform
import Glibc
import SwiftOverlayShims
import Testing

@testable import ClarityHost

/// Tests job files whose accounts are files of a folder.
@Suite struct AccountFolderTests {
    /// A folder with a job file and its folder of accounts.
    private struct Files {
        let folder: String
        let reader: JobFileReader

        init(_ folder: String, _ accounts: [String: String], jobs: String = "") throws {
            self.folder = folder
            reader = JobFileReader(
                catalogue: JobFileSamples.catalogue, zones: SampleZones(), home: "/home/ada",
                workingDirectory: folder, localZone: "UTC", host: "ada")
            mkdir("\(folder)/accounts.d", 0o700)
            try writeJobFile(jobs)
            for (name, text) in accounts { try write(name, text) }
        }

        func writeJobFile(_ job: String) throws {
            let text = JobFileSamples.file(job: job, top: "accounts: accounts.d")
            try SampleFiles.write("\(folder)/jobs.yaml", Array(text.utf8))
        }

        func write(_ name: String, _ text: String) throws {
            try SampleFiles.write("\(folder)/accounts.d/\(name)", Array(text.utf8))
        }

        func remove(_ name: String) { unlink("\(folder)/accounts.d/\(name)") }

        func accounts(_ memory: AccountMemory? = nil) throws -> [AccountDeclaration] {
            try reader.read(fileAt: "jobs.yaml", remembering: memory).accounts ?? []
        }

        func faults(_ memory: AccountMemory? = nil) -> String? {
            do throws(JobFileFaults) {
                _ = try reader.read(fileAt: "jobs.yaml", remembering: memory)
                return nil
            } catch {
                return error.description.replacing("\(folder)/", with: "")
            }
        }
    }

    @Test func `files declare accounts by their names, and others declare none`() throws {
        try SampleFiles.withFolder { folder in
            let files = try Files(
                folder,
                [
                    "ben.yaml": "login: ben@example.org\nenabled: false\n", "anna.yaml": "\n",
                    "anna.yaml~": "login: 7\n", ".kid.yaml": "nonsense: [\n", "README": "-",
                ])

            let accounts = try files.accounts()

            #expect(accounts.map(\.id.rawValue) == ["anna", "ben"])
            #expect(accounts.map(\.login) == [nil, "ben@example.org"])
            #expect(accounts.map(\.isEnabled) == [true, false])
        }
    }

    @Test func `every fault of every file is told in one reading`() throws {
        try SampleFiles.withFolder { folder in
            let files = try Files(
                folder,
                [
                    "Anna.yaml": "", "ben.yaml": "logn: ben@example.org\nenabled: maybe\n",
                    "kid.yaml": "id: other\n", "x.yaml": "[",
                ])

            let told = try #require(files.faults()).split(separator: "\n").map { String($0) }

            #expect(
                told.filter { !$0.hasPrefix("help: ") } == [
                    "accounts.d/Anna.yaml: the file's name is not an account's id followed by `.yaml`",
                    "accounts.d/ben.yaml:1:1: unknown key `logn` in account `ben`; did you mean `login`?",
                    "accounts.d/ben.yaml:2:10: enabled `maybe` is not a boolean",
                    "accounts.d/kid.yaml:1:5: id `other` is not that of the file's name, `kid`",
                    "accounts.d/x.yaml:1:2: a value is missing here",
                ])
        }
    }

    @Test func `the faults of a thousand accounts are told in one reading`() throws {
        try SampleFiles.withFolder { folder in
            let files = try Files(folder, [:])
            for number in 0..<1000 {
                try files.write("a\(number).yaml", "login: a\(number)@example.org\nenabld: true\n")
            }

            let told = try #require(files.faults()).split(separator: "\n")

            let places = told.filter { $0.contains(":2:1: unknown key `enabld`") }
            #expect(Set(places.map { $0.prefix { $0 != ":" } }).count == 1000)
        }
    }

    @Test func `a folder that is not there is told where the job file names it`() throws {
        try SampleFiles.withFolder { folder in
            let files = try Files(folder, [:])
            rmdir("\(folder)/accounts.d")

            let told = files.faults()

            #expect(
                told?.hasSuffix(
                    "cannot read the folder of accounts `accounts.d`: no such file or directory")
                    == true, "\(told ?? "")")
        }
    }

    @Test func `a link to a file that is not there is a fault, and no account that has gone`()
        throws
    {
        try SampleFiles.withFolder { folder in
            let files = try Files(folder, ["anna.yaml": ""])
            try #require(symlink("\(folder)/none", "\(folder)/accounts.d/ben.yaml") == 0)

            #expect(
                files.faults() == "accounts.d/ben.yaml: cannot read it: no such file or directory")
        }
    }

    @Test(arguments: [true, false])
    func `a pipe, a device or a folder among the files is told and never waited for`(
        isRemembered: Bool
    ) throws {
        try SampleFiles.withFolder { folder in
            let files = try Files(folder, ["anna.yaml": ""])
            let pipe = "\(folder)/accounts.d/pipe.yaml"
            try #require(mkfifo(pipe, 0o600) == 0)
            try #require(mkdir("\(folder)/accounts.d/folder.yaml", 0o700) == 0)
            try #require(symlink("/dev/null", "\(folder)/accounts.d/null.yaml") == 0)
            // It ends the wait of whoever opens the pipe to read it.
            Task.detached { close(open(pipe, O_WRONLY)) }
            defer {
                let end = open(pipe, O_RDONLY | O_NONBLOCK)
                unlink(pipe)
                close(end)
            }

            let told = files.faults(isRemembered ? AccountMemory(settlingTime: -1) : nil)

            #expect(
                told?.split(separator: "\n") == [
                    "accounts.d/folder.yaml: it is a folder, wanted an ordinary file",
                    "accounts.d/null.yaml: it is a device, wanted an ordinary file",
                    "accounts.d/pipe.yaml: it is a pipe, wanted an ordinary file",
                ])
        }
    }

    @Test(arguments: ["-x", "--all", "-"])
    func `an id that a command would take for an option is refused`(id: String) throws {
        try SampleFiles.withFolder { folder in
            let help =
                "help: an id is 1 to 64 lowercase letters, digits, `_` or `-`, and does not begin "
                + "with `-`"
            let files = try Files(folder, ["\(id).yaml": ""])

            let told = files.faults()
            let listed = JobFileSamples.faults(
                JobFileSamples.file(job: "", top: "accounts: [{ id: \"\(id)\" }]"))

            #expect(
                told == "accounts.d/\(id).yaml: the file's name is not an account's id followed by "
                    + "`.yaml`\n\(help)")
            #expect(listed == ["jobs.yaml:7:18: account id `\(id)` is not allowed\n\(help)"])
        }
    }

    /// PostgreSQL cuts names after 63 bytes (its manual, 4.1.1).
    @Test(arguments: [("clarity", 55), ("c", 61), ("cl%C3%A9", 58)])
    func `with a server, an id whose role's name would be cut is refused`(
        user: String, most: Int
    ) throws {
        let start = String(repeating: "a", count: most - 1)
        func told(_ ids: [String], _ store: String) -> [String] {
            let list = ids.map { "{ id: \($0) }" }.joined(separator: ", ")
            return JobFileSamples.faults(
                JobFileSamples.file(job: "", top: "accounts: [\(list)]\n\(store)"))
        }
        let store = "store: { url: \"postgresql://\(user)@db.example/clarity\" }"

        #expect(told([start + "x", start + "y"], store) == [])
        #expect(told([start + "xx", start + "xy"], "") == [])
        #expect(
            told([start + "x", start + "xy"], store) == [
                "jobs.yaml:7:\(most + 28): account id \(shown(start + "xy")) is too long with `store.url`: "
                    + "the name of its role has 64 bytes, wanted at most 63\n"
                    + "help: shorten the id, or the name of the user in `store.url`"
            ])
    }

    @Test func `a server's user whose further names would be cut is refused`() {
        func told(_ length: Int) -> [String] {
            let user = String(repeating: "u", count: length)
            return JobFileSamples.faults(
                JobFileSamples.file(
                    job: "", top: "store: { url: \"postgresql://\(user)@db.example/clarity\" }"))
        }

        #expect(told(54) == [])
        #expect(
            told(55) == [
                "jobs.yaml:7:15: url names a user of 55 bytes, wanted at most 54\n"
                    + "help: the roles of accounts have its name and more; PostgreSQL cuts names "
                    + "after 63 bytes"
            ])
    }

    // MARK: Memory

    /// Tells arrays that are one and the same from equal ones.
    private func places(_ accounts: [AccountDeclaration]) -> [UnsafePointer<Job>?] {
        accounts.map { $0.jobs.withUnsafeBufferPointer(\.baseAddress) }
    }

    private static let job = "schedule: { every: 1h }"

    @Test func `only files that have changed are read again`() throws {
        try SampleFiles.withFolder { folder in
            let files = try Files(
                folder, ["anna.yaml": "", "ben.yaml": "", "kid.yaml": ""], jobs: Self.job)
            let memory = AccountMemory(settlingTime: -1)
            let first = try files.accounts(memory)

            try files.write("ben.yaml", "login: ben@example.org\n")
            files.remove("kid.yaml")
            try files.write("eve.yaml", "")
            let second = try files.accounts(memory)
            let whole = try files.accounts()

            #expect(second == whole)
            #expect(second.map(\.id.rawValue) == ["anna", "ben", "eve"])
            #expect(second[1].login == "ben@example.org")
            #expect(places(second)[0] != nil && places(second)[0] == places(first)[0])
            #expect(places(second)[1] == places(first)[0])
            #expect(memory.countRead == 2)
        }
    }

    @Test func `with another job file every account is read again`() throws {
        try SampleFiles.withFolder { folder in
            let files = try Files(folder, ["anna.yaml": ""], jobs: Self.job)
            let memory = AccountMemory(settlingTime: -1)
            let first = try files.accounts(memory)

            try files.writeJobFile(Self.job.replacing("1h", with: "2h"))
            let second = try files.accounts(memory)

            #expect(second != first)
            #expect(second == (try files.accounts()))
        }
    }

    @Test func `a file that has only just changed is not remembered`() throws {
        try SampleFiles.withFolder { folder in
            let files = try Files(folder, ["anna.yaml": ""], jobs: Self.job)
            let memory = AccountMemory(settlingTime: 3_600_000_000_000)

            let (first, second) = (try files.accounts(memory), try files.accounts(memory))

            #expect(first == second)
            #expect(memory.countRead == 1)
        }
    }

    @Test func `a fault between a new account and a remembered one is told at its place`() throws {
        try SampleFiles.withFolder { folder in
            let files = try Files(
                folder, ["ben.yaml": "enabled: true\nlogin: b@example.org\n"], jobs: Self.job)
            let memory = AccountMemory(settlingTime: -1)
            _ = try files.accounts(memory)

            try files.write("anna.yaml", "login: b@example.org\n")
            let told = files.faults(memory)
            files.remove("anna.yaml")
            let after = try files.accounts(memory)

            #expect(
                told
                    == "accounts.d/ben.yaml:2:8: login of account `ben` is also that of `anna`: "
                    + "the backend would get both under one name")
            #expect(after.map(\.id.rawValue) == ["ben"])
        }
    }

    /// Files come, change, break, are mended, replaced by renaming, linked and removed, and so is the
    /// folder and the job file; each reading is compared with one that remembers nothing.
    @Test(arguments: UInt64(1)...12)
    func `what is read again is as if nothing had been read before`(seed: UInt64) throws {
        try SampleFiles.withFolder { folder in
            let files = try Files(folder, [:], jobs: Self.job)
            var random = SeededGenerator(seed: seed)
            // Half of the readings remember each file at once, and half leave a file time to settle.
            let isHasty = seed % 2 == 0
            let memory = AccountMemory(settlingTime: isHasty ? 30_000_000 : -1)
            var reader = files.reader
            reader.holdsFaulty = seed % 3 == 0
            var former = try reader.read(fileAt: "jobs.yaml", remembering: memory)
            var jobs = JobSet(former.groups)
            var (takenOver, broken) = (0, 0)

            for step in 0..<60 {
                if !isHasty { waitForTick() }
                for _ in 0..<Int.random(in: 0...2, using: &random) {
                    try change(files, step, &random)
                }
                let whole = Result { () throws(JobFileFaults) in
                    try reader.read(fileAt: "jobs.yaml")
                }
                let again = Result { () throws(JobFileFaults) in
                    try reader.read(fileAt: "jobs.yaml", remembering: memory)
                }

                #expect(again == whole, "seed \(seed), step \(step)")
                guard case .success(let now) = again else {
                    broken += 1
                    continue
                }
                broken += now.heldFaults.isEmpty ? 0 : 1
                if let groups = now.changedGroups(since: former),
                    let changed = jobs.replacing(groups)
                {
                    takenOver += 1
                    jobs = changed
                } else {
                    jobs = JobSet(now.groups, replacing: jobs)
                }
                #expect(jobs.jobs == JobSet(now.groups).jobs, "seed \(seed), step \(step)")
                former = now
            }
            #expect(takenOver > 5 && broken > 5, "\(takenOver) taken over, \(broken) broken")
        }
    }

    /// Waits until the kernel's clock of changes has another time: who remembers a file at once does
    /// not see what is written within the same tick.
    private func waitForTick() {
        func tick() -> Int {
            var now = timespec()
            clock_gettime(CLOCK_REALTIME_COARSE, &now)
            return now.tv_nsec
        }
        let start = tick()
        while tick() == start { sched_yield() }
    }

    private func change(
        _ files: Files, _ step: Int, _ random: inout SeededGenerator
    ) throws {
        let name = "a\(Int.random(in: 0..<8, using: &random)).yaml"
        let path = "\(files.folder)/accounts.d/\(name)"
        let texts = [
            "", "login: \(step)@example.org\n", "enabled: false\n", "login: same@example.org\n",
            "jobs: { a: { schedule: { every: 2h } } }\n", "time_zone: Europe/Berlin\n",
            "jobs: { a: { enabled: false } }\n",
        ]
        let text = texts[Int.random(in: texts.indices, using: &random)]
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<5: try files.write(name, text)
        case 5:
            try files.write(".draft", text)
            rename("\(files.folder)/accounts.d/.draft", path)
        case 6: files.remove(name)
        case 7: try files.write(name, "lgin: x\n")
        case 8:
            try SampleFiles.write("\(files.folder)/elsewhere.yaml", Array(text.utf8))
            files.remove(name)
            symlink("\(files.folder)/elsewhere.yaml", path)
        case 9: try SampleFiles.write("\(files.folder)/elsewhere.yaml", Array(text.utf8))
        case 10: try files.writeJobFile("schedule: { every: \(step + 1)m }")
        default:
            let (old, new) = ("\(files.folder)/old.d", "\(files.folder)/accounts.d")
            for other in AccountFolder.names(in: old) ?? [] { unlink("\(old)/\(other)") }
            rmdir(old)
            rename(new, old)
            mkdir(new, 0o700)
            for other in AccountFolder.names(in: old) ?? [] where Bool.random(using: &random) {
                rename("\(old)/\(other)", "\(new)/\(other)")
            }
        }
    }
}
