import ClarityHost
import ClarityScheduler
@preconcurrency import Glibc

/// Measures ten thousand accounts on one machine.
struct Accounts {
    private let surroundings: Surroundings
    /// The number of accounts; `BENCHMARK_ACCOUNTS` overrides it.
    private let count: Int
    private let jobsEach = 5
    private let seconds = 60

    init(_ surroundings: Surroundings) {
        self.surroundings = surroundings
        count = Surroundings.number("BENCHMARK_ACCOUNTS") ?? 10_000
    }

    func measure() throws -> Section {
        let folder = try surroundings.makeFolder("accounts")
        try makeAccounts(in: folder)
        var section = Section(
            title: "\(count) accounts with \(jobsEach) jobs an hour each")
        try measureLoop(folder, &section)
        try measureCommands(folder, &section)
        try measureUploads(folder, &section)
        section.notes.append(
            "A folder of \(count) files, one for each account; each of its \(jobsEach) jobs runs "
                + "`/bin/true` once an hour. The loop was measured for \(seconds) s from 20 s after "
                + "its first start, in which it had put all jobs into its history; its own "
                + "processor time, without that of the commands.")
        return section
    }

    /// - Parameter store: the line of the job files that says where the state is.
    func makeAccounts(in folder: String, _ store: String = "") throws {
        try makeFolder("\(folder)/accounts.d")
        for number in 0..<count {
            try write(
                "login: \(id(number))@example.org\n",
                to: "\(folder)/accounts.d/\(id(number)).yaml")
        }
        for (name, every) in [("busy", "1h"), ("quiet", "24h")] {
            let jobs = (1...jobsEach).map {
                "  - { id: j\($0), kind: command, schedule: { every: \(every) }, "
                    + "options: { command: [/bin/true] } }\n"
            }
            try write(
                "version: 1\n\(store)backend: { url: \"http://127.0.0.1:9/\" }\naccounts: accounts.d\njobs:\n"
                    + jobs.joined(), to: "\(folder)/\(name).yaml")
        }
    }

    private func id(_ number: Int) -> String {
        let digits = String(number)
        return "a" + String(repeating: "0", count: 5 - digits.count) + digits
    }

    private func makeFolder(_ path: String) throws {
        guard mkdir(path, 0o700) == 0 else { throw Trouble("cannot make folder `\(path)`") }
    }

    private func arguments(_ folder: String, _ name: String, _ words: [String]) -> [String] {
        [surroundings.program("clarity-jobs")] + words
            + ["--config", "\(folder)/\(name).yaml", "--state", "\(folder)/\(name)"]
    }

    // MARK: The loop

    private func measureLoop(_ folder: String, _ section: inout Section) throws {
        try makeFolder("\(folder)/busy")
        let log = "\(folder)/loop.log"
        let loop = try Child(
            arguments(folder, "busy", ["loop"]), adding: key, errors: log)
        pause(milliseconds: 20_000)
        let start = wallMilliseconds()
        let before = try loop.usage()
        pause(milliseconds: seconds * 1000)
        let after = try loop.usage()
        let end = wallMilliseconds()
        let resident = try loop.status("VmRSS:") / 1024
        let peak = try loop.status("VmHWM:") / 1024
        let reload = try measureReloads(folder, loop, log)
        loop.send(SIGTERM)
        guard loop.wait() == 128 + SIGTERM else { throw Trouble("the loop did not do its work") }
        let late = try lateness("\(folder)/busy", from: start, to: end)
        let share = (after.milliseconds - before.milliseconds) / (Double(seconds) * 10)

        let peer = try APScheduler(surroundings)?.keep(count * jobsEach, seconds: seconds)
        section.add(
            Section.Figure(
                what: "the loop, share of one core", value: "\(decimal(share)) %",
                beside: peer.map { "APScheduler: \(decimal($0.share)) %" } ?? "",
                ratio: peer.map { share / $0.share }, target: "at most 4 %", isMet: share <= 4))
        section.add(
            Section.Figure(
                what: "its resident memory", value: "\(decimal(resident)) MiB",
                beside: peer.map { "APScheduler: \(decimal($0.mebibytes)) MiB" } ?? "",
                ratio: peer.map { resident / $0.mebibytes }, target: "at most 64 MiB",
                isMet: resident <= 64))
        section.add(
            Section.Figure(what: "its peak, at the start", value: "\(decimal(peak)) MiB"))
        section.add(
            Section.Figure(
                what: "lateness at p99, \(late.count) starts (most)",
                value: "\(decimal(late.quantile(0.99))) ms (\(decimal(late.most)))",
                target: "at most 30 ms", isMet: late.quantile(0.99) <= 30))
        section.add(
            Section.Figure(
                what: "reload after one account changed", value: reload.fullText("ms"),
                target: "at most 50 ms", isMet: reload.median <= 50))
        section.notes.append(
            peer == nil
                ? APScheduler.absence
                : "APScheduler has \(count * jobsEach) hourly jobs in its SQLAlchemy store, spread over "
                    + "the hour, that do nothing in a thread; \(peer?.runs ?? 0) ran in \(seconds) s. It "
                    + "keeps no history.")
    }

    /// Returns how late the attempts of a period started, in milliseconds.
    private func lateness(
        _ state: String, from start: Double, to end: Double
    ) throws -> Measurement {
        let late = try RunHistory(inDirectory: state).runs(of: nil, limit: .max)
            .compactMap { run -> Double? in
                guard let began = run.startedAt.map({ Double($0.millisecondsSince1970) }),
                    (start..<end).contains(began)
                else { return nil }
                return began - Double(run.scheduledFor.millisecondsSince1970)
            }
        guard late.count > 1 else { throw Trouble("no attempt started") }
        return Measurement(late)
    }

    /// Measures how long it takes from the change of an account's file until the loop goes by it.
    private func measureReloads(
        _ folder: String, _ loop: Child, _ log: String
    ) throws -> Measurement {
        var times: [Double] = []
        for round in 0..<9 {
            let path = "\(folder)/accounts.d/\(id(round)).yaml"
            try write("login: other-\(round)@example.org\n", to: "\(folder)/draft")
            let lines = try reloads(log)
            let start = steadyMilliseconds()
            guard rename("\(folder)/draft", path) == 0 else { throw Trouble("cannot rename") }
            while try reloads(log) == lines {
                guard steadyMilliseconds() - start < 20_000 else { throw Trouble("no reload") }
                usleep(500)
            }
            times.append(steadyMilliseconds() - start)
            // A file that has just changed is read once more.
            pause(milliseconds: 500)
        }
        return Measurement(times)
    }

    private func reloads(_ log: String) throws -> Int {
        try text(of: log).split(separator: "\n").count { $0.contains("reloaded") }
    }

    // MARK: Commands

    private func measureCommands(_ folder: String, _ section: inout Section) throws {
        let state = "\(folder)/quiet"
        try makeFolder(state)
        try surroundings.makeQuietState(
            state,
            (0..<count).flatMap { number in
                (1...jobsEach).compactMap { JobID("\(id(number))/j\($0)") }
            })
        for (name, value) in key { setenv(name, value, 1) }
        defer { for name in key.keys { unsetenv(name) } }
        let trials = try surroundings.timeInTurn(
            [
                arguments(folder, "quiet", ["run", "--due"]),
                arguments(folder, "quiet", ["status", "--all"]),
            ], rounds: 9)
        let (due, status) = (trials[0], trials[1])
        section.add(
            Section.Figure(
                what: "`run --due` with nothing due", value: due.milliseconds.text("ms"),
                target: "at most 60 ms", isMet: due.milliseconds.median <= 60))
        section.add(
            Section.Figure(
                what: "its peak resident memory", value: due.peakMiB.fullText("MiB"),
                target: "at most 48 MiB", isMet: due.peakMiB.median <= 48))
        section.add(
            Section.Figure(
                what: "`status --all`", value: status.milliseconds.text("ms"),
                target: "at most 300 ms", isMet: status.milliseconds.median <= 300))
    }

    private let key = ["CLARITY_JOBS_KEY": String(repeating: "7", count: 64)]

    // MARK: Uploads

    /// Measures the processor time of workers that a loop starts, each to upload 100 new samples.
    private func measureUploads(_ folder: String, _ section: inout Section) throws {
        let sink = try Sink(surroundings, "\(folder)/port")
        defer { sink.end() }
        let base = sink.base
        let state = "\(folder)/upload"
        try makeFolder(state)
        try write(
            "version: 1\nbackend: { url: \"\(base)\", dialect: blueprint }\njobs:\n"
                + "  - { id: upload, kind: bulk-upload, schedule: { every: 30d } }\n",
            to: "\(folder)/upload.yaml")
        let queue = surroundings.program("benchmark-upload")
        try Child.run([queue, "queue", base, "0", state])
        let log = "\(folder)/upload.log"
        let loop = try Child(arguments(folder, "upload", ["loop"]), errors: log)
        var first = 100
        func upload() throws {
            try Child.run([queue, "queue", base, String(first), state])
            first += 100
            let ended = try uploads(log)
            try Child.run(arguments(folder, "upload", ["run", "upload", "--ask"]))
            while try uploads(log) == ended {
                guard try !text(of: log).contains("failed") else {
                    throw Trouble("an upload failed; see `upload.log`")
                }
                pause(milliseconds: 2)
            }
        }
        let samples = "\(folder)/samples.db"
        let own = surroundings.program("upload")
        try Child.run([own, base, "file", "6500", "100", samples, "\(state)/health.db"])
        var beside: [Double] = []
        for _ in 0..<5 { try upload() }
        // The process that forks for the attempts lives on, and counts too.
        func used() throws -> Double {
            try loop.children().reduce(loop.usage().childMilliseconds) {
                try $0 + Child.usage(of: $1).milliseconds
            }
        }
        let before = try used()
        let rounds = 60
        for _ in 0..<rounds {
            try upload()
            let start = childMilliseconds()
            try Child.run([own, base, "once", "100", "100", samples])
            beside.append(childMilliseconds() - start)
        }
        let each = (try used() - before) / Double(rounds)
        loop.send(SIGTERM)
        loop.wait()
        // A mean, as the other one is.
        let peer = beside.reduce(0, +) / Double(rounds)
        section.add(
            Section.Figure(
                what: "an upload of 100 new samples, processor time of its process",
                value: "\(decimal(each)) ms", beside: "C: \(decimal(peer)) ms",
                ratio: each / peer, target: "at most 12 ms", isMet: each <= 12))
        section.notes.append(
            "The uploads: one account, \(rounds) attempts that a loop starts, each with 100 heart "
                + "rates from the sealed outbox to a server on this machine that keeps nothing; user "
                + "and system time of the workers from their first instruction to their end, and "
                + "of the process that forks for them. The C program (`C/upload.c`) is a process for "
                + "each upload, which takes as many sealed rows out of a file with the same tables of "
                + "samples and batches, and records the batch and its answer as durably; it knows no "
                + "audit log, no counts, no limits and no login. Loading libraries, which a fork does "
                + "not, counts for it.")
    }

    /// The processor time of the children that have ended.
    private func childMilliseconds() -> Double {
        var usage = rusage()
        getrusage(RUSAGE_CHILDREN.rawValue, &usage)
        func milliseconds(_ time: timeval) -> Double {
            Double(time.tv_sec) * 1000 + Double(time.tv_usec) / 1000
        }
        return milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime)
    }

    private func uploads(_ log: String) throws -> Int {
        try text(of: log).split(separator: "\n").count { $0.contains("upload: succeeded") }
    }
}

extension APScheduler {
    /// What it took to keep many jobs.
    struct Keeping {
        /// Percent of one core.
        var share: Double
        var mebibytes: Double
        var runs: Int
    }

    /// Keeps hourly jobs for a while.
    func keep(_ jobs: Int, seconds: Int) throws -> Keeping {
        let output = "\(surroundings.folder)/accounts-peer.txt"
        try Child.run(
            [
                python, "\(surroundings.folder)/apscheduler_accounts.py",
                "\(surroundings.folder)/accounts-peer.db", String(jobs), String(seconds),
            ], output: output)
        let numbers = try text(of: output).split { $0.isWhitespace }.compactMap { Double($0) }
        guard numbers.count == 3 else { throw Trouble("the peer wrote something else") }
        return Keeping(
            share: numbers[0] / (Double(seconds) * 10), mebibytes: numbers[1] / 1024,
            runs: Int(numbers[2]))
    }
}
