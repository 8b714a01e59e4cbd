import ClarityHost
import ClarityScheduler
import Database
@preconcurrency import Glibc

/// Measures a state in PostgreSQL beside one in files.
struct Fleet {
    let surroundings: Surroundings
    let folder: String
    let cluster: Cluster
    private let rate = 14.0
    let key = ["CLARITY_JOBS_KEY": String(repeating: "7", count: 64)]

    init(_ surroundings: Surroundings) throws {
        self.surroundings = surroundings
        folder = try surroundings.makeFolder("fleet")
        cluster = try Cluster(surroundings)
    }

    func measure() async throws -> Section {
        var section = Section(title: "PostgreSQL beside SQLite")
        try await measureClaims(&section)
        try measureAccounts(&section)
        try measureImports(&section)
        section.notes.append(
            "One server on this machine, on a Unix socket, with `fsync` and 256 MiB of buffers.")
        return section
    }

    func clarity(_ name: String, _ words: [String]) -> [String] {
        [surroundings.program("clarity-jobs")] + words
            + ["--config", "\(folder)/\(name).yaml", "--state", "\(folder)/\(name)"]
    }

    private static let refresh = "{ id: refresh, kind: refresh, schedule: { every: 30d } }"

    private func jobFile(_ store: String, _ job: String) -> String {
        "version: 1\n\(store)backend: { url: \"http://127.0.0.1:9/\" }\njobs:\n  - \(job)\n"
    }

    /// Makes a database with all tables, and returns the line of a job file that names it.
    func makeStore(_ name: String) throws -> (address: ServerAddress, line: String) {
        let address = try cluster.makeDatabase(name)
        let line = "store: { url: \"\(address.uri)\" }\n"
        try write(jobFile(line, Fleet.refresh), to: "\(folder)/\(name).yaml")
        try Child.run(clarity(name, ["store", "init", "--apply", "--owner", "admin"]))
        return (address, line)
    }

    // MARK: Claims

    private func measureClaims(_ section: inout Section) async throws {
        let offsets = (0..<Int(rate * 40)).map { Double($0) * 1000 / rate }
        let load = Workload(offsets: offsets)
        let files = try await load.run(try surroundings.makeFolder("fleet/claims"), surroundings)
        let address = try makeStore("claims_server").address
        let store = try PostgresRunStore(at: address, owner: "benchmark/\(getpid())-1")
        let server = try await load.run(
            on: store, owner: store.owner, worker: InstantWorker(),
            "\(folder)/claims_server")
        let ratio = server.completed.quantile(0.99) / files.completed.quantile(0.99)
        section.add(
            Section.Figure(
                what: "claim and complete a run durably, \(decimal(rate)) a second, p99",
                value: text(server.completed), beside: "SQLite: \(text(files.completed))",
                ratio: ratio, target: "at most 3 times", isMet: ratio <= 3))
        section.notes.append(
            "\(offsets.count) jobs, each due at an instant of its own, with a worker in the same process; "
                + "from the due instant until the completion was durable; p99 (median..most).")
    }

    private func text(_ lateness: Measurement) -> String {
        "\(decimal(lateness.quantile(0.99))) ms "
            + "(\(decimal(lateness.median))..\(decimal(lateness.most)))"
    }

    // MARK: Accounts

    private func measureAccounts(_ section: inout Section) throws {
        let seconds = 60
        let line = try makeStore("accounts").line
        try Accounts(surroundings).makeAccounts(in: folder, line)
        let loops = try ["first", "second", "third"].map { name in
            try Child(
                [
                    surroundings.program("clarity-jobs"), "loop", "--config",
                    "\(folder)/busy.yaml", "--state", "\(folder)/\(name)",
                ], adding: key)
        }
        defer {
            for loop in loops {
                loop.send(SIGTERM)
                loop.wait()
            }
        }
        pause(milliseconds: 60_000)
        func used() throws -> (loops: Double, server: Double) {
            (
                try loops.reduce(0) { try $0 + $1.usage().milliseconds },
                try cluster.milliseconds()
            )
        }
        let before = try used()
        pause(milliseconds: seconds * 1000)
        let after = try used()
        func share(_ milliseconds: Double) -> Double { milliseconds / (Double(seconds) * 10) }
        let (own, server) = (share(after.loops - before.loops), share(after.server - before.server))
        section.add(
            Section.Figure(
                what:
                    "10,000 accounts with 5 jobs an hour, three loops and the server, share of one core",
                value: "\(decimal(own + server)) %", target: "at most 25 %",
                isMet: own + server <= 25))
        section.notes.append(
            "The accounts: for \(seconds) s from a minute after the start; the loops \(decimal(own)) %, "
                + "the server \(decimal(server)) %. Their commands do not count. One loop decides, and all start commands."
        )
    }

    // MARK: Imports

    private func measureImports(_ section: inout Section) throws {
        guard let exports = try? Exports(in: folder) else {
            section.notes.append("No import: `CLARITY_EXPORT_GENERATOR` names no script.")
            return
        }
        var (files, server): ([Double], [Double]) = ([], [])
        for round in 0..<3 {
            try write(jobFile("", Fleet.refresh), to: "\(folder)/import_\(round).yaml")
            files.append(try importing(exports.whole, "import_\(round)"))
            let name = "import_server_\(round)"
            _ = try makeStore(name)
            server.append(try importing(exports.whole, name))
        }
        let (own, beside) = (Measurement(server), Measurement(files))
        let ratio = own.median / beside.median
        section.add(
            Section.Figure(
                what: "import of 2,000,000 records", value: own.fullText("s"),
                beside: "SQLite: \(beside.fullText("s"))", ratio: ratio,
                target: "at most 2 times", isMet: ratio <= 2))
    }

    private func importing(_ file: String, _ name: String) throws -> Double {
        let start = steadyMilliseconds()
        try Child.run(
            clarity(name, ["import", "--quiet", "--time-zone", "America/New_York", file]))
        return (steadyMilliseconds() - start) / 1000
    }
}
