import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// Kills at any point of the lives of both programs.
///
/// `CLARITY_CHAOS_ROUND` selects one round of a seed, or several as in `40-60`.
@Suite("A kill at any instant loses nothing and doubles nothing", .timeLimit(.minutes(60)))
struct KillTests {
    /// The number of rounds that run at the same time.
    private static let lanes = 4

    @Test func `after a kill of any process at any point, the next run recovers`() async throws {
        let plan = ChaosPlan.current
        let rounds = KillTests.wanted ?? 0..<plan.size(slice: 5, whole: 560)

        let reports = try await KillTests.inLanes(Array(rounds)) { round in
            let report = try await KillTests.drawn(round)
            KillTests.record(report, "CLARITY_CHAOS_ROUND=\(round)")
            return report
        }

        KillTests.tell("kill", reports)
    }

    @Test(.enabled(if: ChaosPlan.current.isWhole))
    func `a kill at each commit and each send of an upload loses nothing`() async throws {
        let setting = KillSetting(backend: .blueprint, way: .upload)
        let life = try await KillTests.lives.life(setting)
        var all: [KillRound] = []
        for victim in [KillRound.Victim.worker, .scheduler] {
            for program in [Faultline.Program.worker, .scheduler] {
                // A rule in the scheduler cannot kill the worker alone.
                if victim == .worker, program == .scheduler { continue }
                for point in [Faultline.Point.commit, .send] {
                    for when in Faultline.When.allCases {
                        for nth in 0..<life.count(point, program) {
                            let rule = Faultline.Rule(
                                program: program, point: point, when: when, nth: nth + 1,
                                action: victim == .scheduler && program == .worker
                                    ? "kill-parent" : "kill")
                            all.append(KillRound(setting, victim, rule))
                        }
                    }
                }
            }
        }

        let reports = try await KillTests.inLanes(all) { round in
            let report = try await round.run(against: life)
            KillTests.record(report, "each")
            return report
        }

        KillTests.tell("kill-each", reports)
        // Batches that are answered at the same time are settled in one commit, so that a life may
        // have some of its last commits fewer than another. Whatever it has is hit.
        let missed = zip(all, reports).filter { round, report in
            let (nth, count) = (round.rule.nth, life.count(round.rule.point, round.rule.program))
            return !report.hit && (report.reached >= nth || nth <= count - count / 10)
        }
        #expect(missed.map(\.1.title) == [])
    }

    /// One of the commands must ask for a login. It need not be the next run, which may have
    /// nothing that is due.
    @Test func `a kill in a renewal costs a login and no more`() async throws {
        let whole = ChaosPlan.current.isWhole
        var rounds: [KillRound] = []
        for way in whole ? [KillSetting.Way.upload, .due, .loop, .pull] : [.upload] {
            var setting = KillSetting(backend: .blueprint, way: way)
            setting.isExpired = true
            for point in whole ? [Faultline.Point.send, .receive] : [.send] {
                // A worker's first request checks whether the token is still accepted.
                let rule = Faultline.Rule(
                    program: .worker, point: point, when: .after, nth: 2, action: "kill")
                rounds.append(KillRound(setting, .worker, rule))
            }
        }

        let reports = try await KillTests.inLanes(rounds) { round in
            let report = try await round.run(
                against: try await KillTests.lives.life(round.setting))
            KillTests.record(report, "in a renewal")
            return report
        }

        // With two workers at once, the second send may come from the other one, and one answer may
        // take two calls. A single worker has nothing else to send.
        let first = try #require(reports.first)
        #expect(first.lostSession, "\(first)")
        KillTests.tell("kill-renewal", reports)
    }

    // MARK: Rounds

    /// The rounds that the environment selects, or `nil` for all.
    private static var wanted: Range<Int>? {
        guard let text = getenv("CLARITY_CHAOS_ROUND").map({ String(cString: $0) }) else {
            return nil
        }
        let ends = text.split(separator: "-").compactMap { Int($0) }
        guard let first = ends.first, let last = ends.last, first <= last else { return nil }
        return first..<last + 1
    }

    private static let lives = UndisturbedLives()

    /// Runs the round of this number.
    private static func drawn(_ round: Int) async throws -> KillRound.Report {
        var random = ChaosPlan.current.generator("kill round \(round)")
        let ways = KillSetting.Way.allCases
        // Of 20 rounds, each way has one, and the longest lives have the others. A slice has fewer
        // rounds than there are ways, so the seed selects the way with which it begins.
        let first = ChaosPlan.current.isWhole ? 0 : Int(ChaosPlan.current.seed % UInt64(ways.count))
        let turn = round % 20
        let way = ways[(first + (turn < ways.count ? turn : turn % 3)) % ways.count]
        // In a slice each way uses one backend, because each setting needs an undisturbed life for
        // the comparison.
        let backends = KillSetting.Backend.allCases
        let backend =
            ChaosPlan.current.isWhole
            ? backends.randomElement(using: &random) ?? .blueprint
            : backends[(ways.firstIndex(of: way) ?? 0) % backends.count]
        var setting = KillSetting(backend: backend, way: way)
        setting.isExpired = ChaosPlan.current.isWhole && round % 7 == 0 && setting.hasScheduler
        // Every third round, and one of a slice.
        setting.isOnServer =
            PostgresServer.isAvailable && !setting.needsFiles
            && round % (ChaosPlan.current.isWhole ? 3 : 5) == 2
        let life = try await lives.life(setting)
        let drawn = KillRound(setting, life, using: &random)
        do {
            return try await drawn.run(against: life)
        } catch {
            // A round that fails is a finding, and does not end the others.
            var report = KillRound.Report(title: drawn.title, victim: drawn.victim)
            report.findings = ["\(error)"]
            return report
        }
    }

    /// Calls `body` with each element, a few at a time, and returns the results in the order of the
    /// elements.
    private static func inLanes<Element: Sendable, Result: Sendable>(
        _ elements: [Element], _ body: @escaping @Sendable (Element) async throws -> Result
    ) async throws -> [Result] {
        try await withThrowingTaskGroup(of: (Int, Result).self) { group in
            var results: [Int: Result] = [:]
            for (place, element) in elements.enumerated() {
                if place >= lanes, let (done, result) = try await group.next() {
                    results[done] = result
                    if results.count % 100 == 0 {
                        print("kill: \(results.count) of \(elements.count) rounds")
                    }
                }
                group.addTask { (place, try await body(element)) }
            }
            for try await (done, result) in group { results[done] = result }
            return elements.indices.compactMap { results[$0] }
        }
    }

    /// Records an issue for a round with findings, as soon as it has ended.
    private static func record(_ report: KillRound.Report, _ name: String) {
        guard !report.findings.isEmpty else { return }
        Issue.record("CLARITY_CHAOS_SEED=\(ChaosPlan.current.seed) \(name): \(report)")
    }

    /// Prints the sum of the rounds.
    private static func tell(_ part: String, _ reports: [KillRound.Report]) {
        var line = ChaosLine(part)
        line.rounds = reports.count
        for report in reports {
            if report.hit { line.faults["kill-\(report.victim)", default: 0] += 1 }
            if report.lostSession { line.faults["session-lost", default: 0] += 1 }
            line.lost += report.lost
            line.doubled += report.doubled
            line.stuck += report.stuck
            line.crashes += report.crashes
        }
        line.tell()
        #expect(reports.contains { $0.hit })
        guard ChaosPlan.current.isWhole else { return }
        for victim in Set(reports.map(\.victim)) {
            #expect(reports.contains { $0.victim == victim && $0.hit }, "\(victim)")
        }
    }
}
