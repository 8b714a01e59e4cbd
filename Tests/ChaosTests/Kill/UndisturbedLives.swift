import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// A life that nothing cuts short: its ledger, and the number of points at which a fault can
/// strike.
struct UndisturbedLife: Sendable {
    let ledger: KillLedger
    let scheduler: [Faultline.Point: Int]
    let worker: [Faultline.Point: Int]

    /// Runs the life to its end.
    init(_ setting: KillSetting) async throws {
        let playground = try await setting.playground()
        let faultline = Faultline(counts: "\(playground.folder.path)/counts")
        try await setting.prepare(playground)

        let end = try await KillRound.live(
            setting, playground, faultline.environment(folder: playground.folder.path))

        #expect([0, 143].contains(end.status), "\(setting): \(end.status) \(end.errors)")
        func counts(_ program: Faultline.Program) throws -> [Faultline.Point: Int] {
            Dictionary(
                uniqueKeysWithValues: try Faultline.Point.allCases.map {
                    ($0, try faultline.count(of: $0, program: program))
                })
        }
        scheduler = try counts(.scheduler)
        worker = try counts(.worker)
        for result in try await setting.repeated(playground) {
            #expect(result.status == 0, "\(setting): \(result.errors)")
        }
        let due = try await playground.run("run", "--due")
        #expect(due.status == 0, "\(setting): \(due.errors)")
        ledger = try await KillLedger(playground)
        #expect(ledger.damage == [] && ledger.open == [], "\(setting): \(ledger)")
        let verdict = ledger.verdict(setting, undisturbed: ledger)
        #expect(verdict.findings == [], "\(setting)")
    }

    /// Returns how often a program passes a point, or how often both do for `nil`.
    func count(_ point: Faultline.Point, _ program: Faultline.Program?) -> Int {
        switch program {
        case .scheduler: scheduler[point, default: 0]
        case .worker: worker[point, default: 0]
        // No life has a web program.
        case .web: 0
        case nil: scheduler[point, default: 0] + worker[point, default: 0]
        }
    }
}

/// The undisturbed lives. Each is run once, when a test first asks for it.
actor UndisturbedLives {
    private var lives: [KillSetting: Task<UndisturbedLife, any Error>] = [:]

    func life(_ setting: KillSetting) async throws -> UndisturbedLife {
        if let known = lives[setting] { return try await known.value }
        let task = Task { try await UndisturbedLife(setting) }
        lives[setting] = task
        return try await task.value
    }
}
