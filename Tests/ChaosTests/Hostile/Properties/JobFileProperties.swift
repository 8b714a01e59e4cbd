import ClarityHost
import HealthStore
import ClarityScheduler
import Platform

/// Checks that any bytes are a job file whose jobs can be planned, or have faults with positions
/// inside them.
enum JobFileProperties {
    /// 2026-11-15T00:00:00Z.
    private static let now = Instant(secondsSince1970: 1_794_700_800)

    static func makeCheck() -> FuzzTarget.Check {
        let reader = JobFileReader(
            catalogue: clarityCatalogue, zones: KeptZones(), home: "/home/ada",
            workingDirectory: "/work", localZone: "Europe/London", host: "machine")
        return { text in try check(Array(text), reader) }
    }

    private static func check(_ bytes: [UInt8], _ reader: JobFileReader) throws {
        let file: JobFile
        do throws(JobFileFaults) {
            file = try reader.read(bytes, path: "jobs.yaml", warningAt: now)
        } catch {
            return try check(error, of: bytes)
        }
        try require(Set(file.jobs.map(\.id)).count == file.jobs.count, "two jobs have one id")
        for job in file.jobs {
            if let schedule = job.schedule { try ScheduleProperties.check(schedule, from: now) }
        }
        try plan(file)
    }

    private static func check(_ faults: JobFileFaults, of bytes: [UInt8]) throws {
        let lines = bytes.count { $0 == 0x0A || $0 == 0x0D } + 1
        try require(!faults.faults.isEmpty, "a refusal without a fault")
        try require(faults.faults.count <= bytes.count + 8, "more faults than bytes")
        for fault in faults.faults + faults.warnings {
            let isWhole = fault.line == 0 && fault.column == 0
            let isInside =
                (1...lines).contains(fault.line) && (1...bytes.count + 1).contains(fault.column)
            try require(isWhole || isInside, "a fault at \(fault.line):\(fault.column)")
            try demandHarmless(fault.message, "a message")
            try require(!fault.message.contains("\n"), "a message of two lines")
            try demandHarmless(fault.help ?? "", "a help")
            try demandHarmless(fault.path ?? "", "a path")
            try require(fault.message.utf8.count < 2000, "a message without end")
        }
        let places = faults.faults.map { ($0.line, $0.column) }
        try require(zip(places, places.dropFirst()).allSatisfy { $0 <= $1 }, "faults out of order")
    }

    /// Makes two decisions, a day apart. Both must end, and a repetition must give the same result.
    private static func plan(_ file: JobFile) throws {
        var planner = Planner(
            jobs: JobSet(file.enabledJobs), owner: "fuzz", maxParallel: file.maxParallel ?? 4,
            retention: file.retention, seed: 7)
        var ledger = Ledger()
        let conditions = Conditions(
            connected: .init(true, source: "x"), metered: .init(false, source: "x"))
        for day in 0..<2 {
            let passed = Duration.seconds(86_400 * Int64(day))
            let moment = Moment(wall: now + passed, elapsed: passed)
            var same = planner
            let plan = planner.handle([.tick], at: moment, conditions: conditions, ledger: ledger)
            let again = same.handle([.tick], at: moment, conditions: conditions, ledger: ledger)
            try require(again == plan, "decided again it is another decision")
            for change in plan.changes { ledger.apply(change) }
            for case .start(let order) in plan.acts {
                let again = try AttemptOrder(lines: order.lines)
                try require(again == order, "an order that cannot be read again")
            }
        }
    }
}

/// The zones that most texts name, read once.
struct KeptZones: ZoneSource {
    private let files: [String: [UInt8]]

    init() {
        let system = SystemZones(environment: [:])
        var files: [String: [UInt8]] = [:]
        for name in ["Europe/London", "Australia/Lord_Howe", "America/New_York", "Asia/Tehran"] {
            files[name] = system.tzif(for: name)
        }
        self.files = files
    }

    func tzif(for identifier: String) -> [UInt8]? { files[identifier] }

    /// The zones, UTC first.
    var zones: [Zone] {
        get throws {
            [.utc]
                + (try files.sorted { $0.key < $1.key }.map {
                    try Zone(identifier: $0.key, tzif: $0.value)
                })
        }
    }
}
