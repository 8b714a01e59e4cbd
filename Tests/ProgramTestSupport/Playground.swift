import ClarityTestSupport
import Glibc
import Testing

/// A home for the built programs: a folder, a job file, a state directory and, if requested, a
/// sandbox that ends with it.
final class Playground: Sendable {
    /// Declared before the folder, so that it has ended when the folder is removed.
    let sandbox: Sandbox?
    let folder: TemporaryFolder
    /// The network in which all programs run; the machine's own without it.
    let network: NetworkNamespace?
    /// The database that has the state; `nil` for files.
    let database: StateDatabase?
    /// The proxy between the programs and the sandbox, if there is one.
    private let proxy: MutatingProxy?

    /// The address of the backend, or an address where nobody listens.
    var url: String { proxy?.url ?? sandbox?.url ?? "http://127.0.0.1:9/api/v1" }
    var statePath: String { "\(folder.path)/state" }
    var jobFilePath: String { "\(folder.path)/jobs.yaml" }

    /// Creates the folder, starts the sandbox with its options, and writes a job file.
    ///
    /// - Parameters:
    ///   - isInMemory: whether the folder is in memory if the machine has room for that.
    ///   - sandboxFile: the `sandbox.db` that the sandbox finds, and so need not create.
    ///   - mutation: a fault of the client that a proxy in front of the sandbox imitates.
    ///   - database: where the state is; in files without it.
    init(
        sandboxOptions: [String]? = [], in network: NetworkNamespace? = nil,
        isInMemory: Bool = false, sandboxFile: [UInt8]? = nil, mutation: ClientMutation? = nil,
        on database: StateDatabase? = nil,
        jobFile: ((_ url: String, _ folder: String) -> String)? = nil
    ) async throws {
        folder = try TemporaryFolder(isInMemory: isInMemory)
        self.network = network
        self.database = database
        if let sandboxFile {
            guard mkdir("\(folder.path)/sandbox", 0o700) == 0 else {
                throw TemporaryFolder.Errno(code: errno)
            }
            try folder.write("sandbox/sandbox.db", sandboxFile)
        }
        if let sandboxOptions {
            sandbox = try await Sandbox(
                data: "\(folder.path)/sandbox", sandboxOptions, in: network)
        } else {
            sandbox = nil
        }
        if let mutation, let sandbox {
            proxy = try await MutatingProxy(mutation, port: sandbox.port)
        } else {
            proxy = nil
        }
        try database?.writeKey(into: statePath)
        try write(jobFile: jobFile ?? Playground.standardJobFile)
    }

    /// Replaces the job file.
    func write(jobFile: (_ url: String, _ folder: String) -> String) throws {
        let text = jobFile(url, folder.path)
        try folder.write(
            "jobs.yaml", Array((database.map { text.placed(in: $0.address) } ?? text).utf8))
    }

    /// Returns a folder with the files of the state, for judges to read: the state directory, or a
    /// new copy of what the database has.
    func readableState(accounts: [String] = []) throws -> String {
        guard let database else { return statePath }
        let copy = "\(folder.path)/copy"
        try database.copy(into: copy, accounts: accounts)
        try database.writeKey(into: copy)
        return copy
    }

    /// Returns a job file with the five jobs and without constraints, so that a test does not
    /// depend on its machine.
    static func standardJobFile(url: String, folder: String) -> String {
        """
        version: 1
        backend:
          url: \(url)
          retry_wait: 1ms
        sources:
          - kind: apple-health-export
            path: \(folder)/export.xml
        jobs:
          - { id: refresh, kind: refresh, class: app-refresh, schedule: { every: 4h } }
          - id: upload
            kind: bulk-upload
            schedule: { every: 1h }
            then: [status]
          - { id: status, kind: processing-status, schedule: { every: 15m } }
          - { id: insights, kind: insight-history, schedule: { every: 12h } }
          - { id: cleanup, kind: cleanup, schedule: { every: 1d } }

        """
    }

    /// Runs `clarity-jobs` on this job file and state directory, with little else in its
    /// environment.
    func run(
        _ arguments: String..., input: String = "", environment: [String: String] = [:]
    ) async throws -> ProgramResult {
        try await start(arguments, environment: environment).finish(input: input)
    }

    /// Starts `clarity-jobs` and leaves it running.
    ///
    /// - Parameters:
    ///   - path: the program, if it is not the built one.
    ///   - blocked: the signals that are blocked when the program starts (`ChildProgram`).
    func start(
        _ arguments: [String], environment: [String: String] = [:], program path: String? = nil,
        blocked: [Int32]? = nil
    ) throws -> ChildProgram {
        var surroundings = [
            "CLARITY_JOBS_CONFIG": jobFilePath, "CLARITY_JOBS_STATE": statePath,
            "HOME": folder.path, "PATH": "/usr/bin:/bin",
        ]
        surroundings.merge(environment) { $1 }
        let program = path ?? "\(ChildProgram.folder)/clarity-jobs"
        let command = network?.command(program, arguments) ?? (program, arguments)
        return try ChildProgram(
            command.0, command.1, environment: surroundings, blocked: blocked)
    }

    /// Logs in as the sandbox's own user.
    func logIn() async throws {
        let result = try await run(
            "auth", "login", "--email", "demo@example.com", "--password-stdin",
            input: "Demo-Passw0rd!\n")
        #expect(result.status == 0, "\(result.errors)")
    }

    /// Writes an export with `count` heart rates, a minute apart, to the path in the job file.
    func writeExport(heartRates count: Int) throws {
        var text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE HealthData [
            ]>
            <HealthData locale="en_GB">

            """
        for number in 0..<count {
            let minute = "\(number % 60)".count == 1 ? "0\(number % 60)" : "\(number % 60)"
            let hour = number / 60 % 24 < 10 ? "0\(number / 60 % 24)" : "\(number / 60 % 24)"
            let day = 1 + number / 1440 < 10 ? "0\(1 + number / 1440)" : "\(1 + number / 1440)"
            let date = "2026-10-\(day) \(hour):\(minute):00 +0000"
            text += """
                 <Record type="HKQuantityTypeIdentifierHeartRate" sourceName="Watch" \
                unit="count/min" startDate="\(date)" endDate="\(date)" value="\(60 + number % 40)"/>

                """
        }
        try folder.write("export.xml", Array("\(text)</HealthData>\n".utf8))
    }
}

/// A running `clarity-jobs-sandbox`, which ends with its owner.
final class Sandbox: Sendable {
    /// The base URL of its API.
    let url: String
    private let program: ChildProgram
    let network: NetworkNamespace?

    init(
        data: String, _ options: [String], in network: NetworkNamespace? = nil
    ) async throws {
        self.network = network
        let path = "\(ChildProgram.folder)/clarity-jobs-sandbox"
        let words = ["--listen", "127.0.0.1:0", "--data", data, "--exit-with-stdin"] + options
        let command = network?.command(path, words) ?? (path, words)
        program = try ChildProgram(command.0, command.1, environment: [:])
        let ready = try #require(await program.readLine(), "the sandbox did not start")
        url = try #require(ready.split(separator: " ").last.map(String.init))
    }

    /// The process that listens.
    var processID: Int32 { program.processID }

    /// The port of the loopback address on which it listens.
    var port: UInt16 {
        get throws {
            let digits = url.dropFirst("http://127.0.0.1:".count).prefix { $0 != "/" }
            return try #require(UInt16(digits))
        }
    }

    /// Returns one of the sandbox's own counts: `metrics`, `distinct_metric_ids`, `uploads`,
    /// `requests`.
    func count(_ name: String) async throws -> Int {
        let text = try await LoopbackRequest.send(
            "GET", "/_sandbox/summary", port: port, in: network)
        let value = try #require(text.firstRange(of: "\"\(name)\":"))
        return try #require(Int(text[value.upperBound...].prefix { $0.isNumber }))
    }

    /// Makes requests fail from now on, by a rule such as `POST /health-data/upload: 503 x3`.
    func addFault(_ fault: String) async throws {
        let answer = try await LoopbackRequest.send(
            "POST", "/_sandbox/fault", body: fault, port: port, in: network)
        try #require(answer.contains("\"added\":1"), "`\(fault)`: \(answer)")
    }

    /// Removes all faults that have not struck yet, and returns how many requests have met one.
    @discardableResult
    func clearFaults() async throws -> Int {
        let answer = try await LoopbackRequest.send(
            "DELETE", "/_sandbox/fault", port: port, in: network)
        let value = try #require(answer.firstRange(of: "\"struck\":"), "\(answer)")
        return try #require(Int(answer[value.upperBound...].prefix { $0.isNumber }))
    }

    /// Expires every access token that was issued.
    func expireTokens() async throws {
        _ = try await LoopbackRequest.send(
            "POST", "/_sandbox/expire-tokens", port: port, in: network)
    }
}
