import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// The setting of a life that is cut short: a backend, and the command that a person or cron runs.
struct KillSetting: Hashable, Sendable, CustomStringConvertible {
    /// The backend's contract, and the policy for samples in doubt.
    enum Backend: String, CaseIterable, Sendable {
        /// The backend deduplicates.
        case blueprint
        /// The backend stores every copy. The client resends unanswered uploads and counts the
        /// copies.
        case resend
        /// The backend stores every copy. The client puts unanswered uploads on hold for a person.
        case hold
    }

    /// The command that is running when the kill comes.
    enum Way: String, CaseIterable, Sendable {
        case due = "run --due"
        case loop
        case upload = "run upload"
        case pull = "run refresh insights"
        case study = "run upload analysis insight"
        case cleanup = "run cleanup"
        case auditUpload = "run audit"
        case commands = "run note"
        case importing = "import"
        case retry = "outbox retry"
        case discard = "outbox discard"
        case rotate = "key rotate"
        case backup
        case logOut = "auth logout"
    }

    /// The number of samples in one upload, and so the most that a kill may leave in doubt.
    static let batchSize = 20

    var backend: Backend
    var way: Way
    /// Whether the access token has expired, so that the command begins with a renewal.
    var isExpired = false
    /// Whether the state is in a database and not in files.
    var isOnServer = false
    /// A fault of the client that the judge has to find.
    var mutation: ClientMutation?

    var description: String {
        "\(backend)/\(way.rawValue)\(isExpired ? "/expired" : "")\(isOnServer ? "/server" : "")"
    }

    /// The number of heart rates in the export: few where each is refused by itself.
    var heartRates: Int { [.retry, .discard].contains(way) ? 12 : 130 }

    /// The samples that must be at the backend in the end: everything that `writeStudy` writes,
    /// with the steps summed by day. The last day was not over at the time of the export, so it is
    /// not sent.
    var expected: Set<ExpectedSample> {
        let hearts = (0..<heartRates).map { ExpectedSample.heartRate(1440 + $0, 60 + $0 % 40) }
        let days = (1...7).map { day in
            ExpectedSample(
                kind: .steps, start: "2026-10-0\(day)T00:00:00Z",
                value: Double((7..<22).reduce(0) { $0 + 400 + 40 * $1 }))
        }
        return Set(hearts + days)
    }

    /// The repetitions that the backend's contract and the job file permit.
    var policy: DeliveryJudge.Policy {
        switch backend {
        case .blueprint: .deduplicates
        case .resend: .resend
        case .hold: .hold
        }
    }

    /// Returns the arguments of the command that is cut short.
    func arguments(_ playground: Playground) -> [String] {
        switch way {
        case .due: ["run", "--due"]
        case .loop: ["loop"]
        case .upload: ["run", "upload"]
        case .pull: ["run", "refresh", "insights"]
        case .study: ["run", "upload", "analysis", "insight"]
        case .cleanup: ["run", "--force", "cleanup"]
        case .auditUpload: ["run", "--force", "audit"]
        case .commands: ["run", "--force", "note"]
        case .importing: ["import", "\(playground.folder.path)/export.xml"]
        case .retry: ["outbox", "retry", "--all", "--yes"]
        case .discard: ["outbox", "discard", "--all", "--yes"]
        case .rotate: ["key", "rotate"]
        case .backup: ["backup"]
        case .logOut: ["auth", "logout"]
        }
    }

    /// Whether the command works on a state in files alone.
    var needsFiles: Bool { [.rotate, .backup].contains(way) }

    /// Whether a scheduler runs workers. Otherwise one program replaces itself with the other.
    var hasScheduler: Bool {
        switch way {
        case .importing, .retry, .discard, .rotate, .backup, .logOut: false
        default: true
        }
    }

    /// The sandbox options for the contract. The rate limiter works, so that the week's steps can
    /// be analysed.
    private var contract: [String] {
        backend == .blueprint ? [] : ["--dialect", "loop", "--quirks", "repaired"]
    }

    private static let seeds = SandboxSeeds()

    /// Returns a playground that is logged in and has its export, with a job of every kind.
    func playground() async throws -> Playground {
        let playground = try await Playground(
            sandboxOptions: contract + ["--processing-steps", "1"], isInMemory: true,
            sandboxFile: try await KillSetting.seeds.file(contract), mutation: mutation,
            on: isOnServer ? try await StateDatabase() : nil, jobFile: jobFile)
        try playground.writeStudy(heartRates: heartRates)
        try await playground.logIn()
        return playground
    }

    /// Prepares what the command needs to have some work.
    func prepare(_ playground: Playground) async throws {
        let sandbox = try #require(playground.sandbox)
        switch way {
        case .due, .loop, .upload, .importing, .pull, .commands, .study: break
        case .rotate, .backup, .logOut, .auditUpload, .cleanup:
            let result = try await playground.run("run", "upload")
            #expect(result.status == 0, "\(self): \(result.errors)")
        case .retry, .discard:
            let path = backend == .blueprint ? "/health-data/upload" : "/healthkit"
            try await sandbox.addFault("POST \(path): 422 x*")
            _ = try await playground.run("run", "upload")
            try await sandbox.clearFaults()
        }
        if isExpired { try await sandbox.expireTokens() }
    }

    /// Does what a person does on coming back to the command, so that in the end all lives reach
    /// the same state.
    func repeated(_ playground: Playground) async throws -> [ProgramResult] {
        switch way {
        case .importing, .rotate:
            return [try await playground.start(arguments(playground)).finish()]
        case .backup:
            let again = try await playground.start(arguments(playground)).finish()
            return [again] + (try await playground.triedBackups())
        case .retry:
            let again = try await playground.start(arguments(playground)).finish()
            return [again, try await playground.run("run", "--force", "upload")]
        case .discard:
            let again = try await playground.start(arguments(playground)).finish()
            let back = try await playground.run(
                "outbox", "retry", "--reason", "discarded", "--yes")
            return [again, back, try await playground.run("run", "--force", "upload")]
        case .logOut:
            // Nobody is logged in if the first logout was not cut short, so this one may be
            // refused.
            _ = try await playground.start(arguments(playground)).finish()
            try await playground.logIn()
            return []
        default: return []
        }
    }

    private func jobFile(url: String, folder: String) -> String {
        let ambiguous =
            switch backend {
            case .blueprint: ""
            case .resend: ", on_ambiguous: resend"
            case .hold: ", on_ambiguous: hold"
            }
        let patience = backend == .blueprint ? "" : "options: { give_up_after: 1s }"
        let receiver =
            url.firstRange(of: "/api/").map { "\(url[..<$0.lowerBound])/_sandbox/audit" } ?? url
        return """
            version: 1
            backend: { url: \(url), retry_wait: 1ms }
            sources:
              - { kind: apple-health-export, path: \(folder)/export.xml, time_zone: UTC }
            jobs:
              - { id: refresh, kind: refresh, class: app-refresh, schedule: { every: 4h } }
              - id: upload
                kind: bulk-upload
                schedule: { every: 1h }
                options: { batch_size: \(KillSetting.batchSize)\(ambiguous) }
                then: [status, analysis]
              - id: status
                kind: processing-status
                schedule: { every: 15m }
                \(patience)
              - id: insights
                kind: insight-history
                schedule: { every: 12h }
                on: [upload-completed]
              - { id: analysis, kind: pat-analysis, schedule: { every: 1d } }
              - id: insight
                kind: insight-generate
                schedule: { every: 1d }
                on: [analysis-completed]
              - id: cleanup
                kind: cleanup
                schedule: { every: 1d }
                options: { retain: \(way == .cleanup ? "1d" : "900d") }
              - id: audit
                kind: audit-upload
                schedule: { every: 1d }
                options: { url: \(receiver) }
              - id: note
                kind: command
                schedule: { every: 1d }
                options: { command: ["true"] }
                then: [echo]
              - { id: echo, kind: command, schedule: { every: 1d }, options: { command: ["true"] } }

            """
    }
}

extension Playground {
    /// Rehearses a restore of each listed backup. A backup that was cut short must not be listed.
    fileprivate func triedBackups() async throws -> [ProgramResult] {
        let list = try await json("backup", "list").elements
        #expect(!list.isEmpty)
        var results: [ProgramResult] = []
        for backup in list {
            let name = try #require(backup["name"].text)
            results.append(try await run("restore", name, "--dry-run"))
        }
        return results
    }

    /// Writes an export with heart rates a minute apart, and a week of steps to analyse.
    fileprivate func writeStudy(heartRates count: Int) throws {
        var text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE HealthData [
            ]>
            <HealthData locale="en_GB">
             <ExportDate value="2026-10-08 09:00:00 +0000"/>

            """
        func record(_ type: String, _ unit: String, _ start: String, _ end: String, _ value: Int) {
            text += """
                 <Record type="HKQuantityTypeIdentifier\(type)" sourceName="Watch" unit="\(unit)" \
                startDate="\(start):00 +0000" endDate="\(end):00 +0000" value="\(value)"/>

                """
        }
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        for day in 1...8 {
            for hour in 7..<(day == 8 ? 9 : 22) {
                let time = "2026-10-0\(day) \(two(hour))"
                record("StepCount", "count", "\(time):00", "\(time):40", 400 + 40 * hour)
            }
        }
        for number in 0..<count {
            let minute = "2026-10-02 \(two(number / 60)):\(two(number % 60))"
            record("HeartRate", "count/min", minute, minute, 60 + number % 40)
        }
        try folder.write("export.xml", Array("\(text)</HealthData>\n".utf8))
    }
}
