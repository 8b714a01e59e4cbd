import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import SQLite
import Testing

/// One kill at a point of a life, and the run that sets it right.
struct KillRound: Sendable {
    /// Who is killed.
    enum Victim: String, CaseIterable, Sendable { case worker, scheduler, both }

    /// What a round came to.
    struct Report: Sendable, CustomStringConvertible {
        var title: String
        var victim: Victim
        /// Whether the point was reached.
        var hit = false
        /// How the way ended: 137 when it was the victim itself.
        var disturbed: Int32 = -1
        /// How the run ended that set it right.
        var rescue: Int32 = -1
        var lost = 0
        var doubled = 0
        var stuck = 0
        var crashes = 0
        /// Whether the session was lost, as it may be by a kill between a renewal and its answer.
        var lostSession = false
        var findings: [String] = []

        var description: String {
            "\(title) hit=\(hit) disturbed=\(disturbed) rescue=\(rescue)"
                + (findings.isEmpty ? "" : ": \(findings.joined(separator: "; "))")
        }
    }

    let setting: KillSetting
    let victim: Victim
    let rule: Faultline.Rule

    /// A round that is drawn: one in three at a commit or a send, the others at any point.
    init(
        _ setting: KillSetting, _ life: UndisturbedLife, using random: inout SeededGenerator
    ) {
        self.setting = setting
        var program: Faultline.Program?
        var action = "kill"
        if setting.hasScheduler {
            victim = Victim.allCases.randomElement(using: &random) ?? .both
            let isFromBelow = Bool.random(using: &random)
            switch victim {
            case .worker: program = .worker
            // At a point of its own, or at one of the worker that it has started.
            case .scheduler:
                program = isFromBelow ? .worker : .scheduler
                action = isFromBelow ? "kill-parent" : "kill"
            case .both: action = "kill-both"
            }
        } else {
            victim = .worker
        }
        let named: [Faultline.Point] = [.commit, .send].filter { life.count($0, program) > 0 }
        var point = Faultline.Point.any
        if Int.random(in: 0..<3, using: &random) == 0,
            let drawn = named.randomElement(using: &random)
        {
            point = drawn
        }
        rule = Faultline.Rule(
            program: program, point: point,
            when: Bool.random(using: &random) ? .before : .after,
            nth: Int.random(in: 1...max(1, life.count(point, program)), using: &random),
            action: action)
    }

    /// A round at a known point.
    init(_ setting: KillSetting, _ victim: Victim, _ rule: Faultline.Rule) {
        (self.setting, self.victim, self.rule) = (setting, victim, rule)
    }

    var title: String { "\(setting) \(victim) \(rule)" }

    /// Kills, sets right, and counts.
    func run(against life: UndisturbedLife) async throws -> Report {
        var report = Report(title: title, victim: victim)
        let playground = try await setting.playground()
        let faultline = Faultline(counts: "\(playground.folder.path)/counts")
        try await setting.prepare(playground)

        let disturbed = try await KillRound.live(
            setting, playground,
            faultline.environment(rules: [rule], folder: playground.folder.path))
        report.hit = try faultline.struck() > 0
        report.disturbed = disturbed.status
        let sendsUntilCut = try await playground.sandbox?.lastSend() ?? 0
        var results = try await setting.repeated(playground)
        var rescue = try await playground.run("run", "--due")
        if setting.isExpired, report.hit, try await playground.hasLostRenewal() {
            report.lostSession = true
            if ![disturbed, rescue].contains(where: {
                $0.status == 77 || $0.errors.contains("auth login")
            }) {
                report.findings.append("nobody asked for a login")
            }
            try await playground.logIn()
            // What was due has had its turn, and was told that nobody is logged in.
            results.append(
                try await playground.run(
                    "run", "--force", "refresh", "upload", "insights", "cleanup", "audit", "note"))
            rescue = try await playground.run("run", "--due")
        }
        report.rescue = rescue.status
        results.append(rescue)

        var ledger = try await KillLedger(playground)
        ledger.sendsUntilCut = report.hit ? sendsUntilCut : 0
        let verdict = ledger.verdict(setting, undisturbed: life.ledger)
        (report.lost, report.doubled, report.stuck) = (
            verdict.lost, verdict.doubled, verdict.stuck
        )
        report.findings += verdict.findings
        for result in results where ![0, 75].contains(result.status) {
            report.findings.append("ended with \(result.status): \(result.errors)")
        }
        let session = try await playground.run("auth", "status")
        if session.status != 0 { report.findings.append("session: \(session.errors)") }
        // A signal that nobody sent, or a fault that the program calls its own.
        let statuses = results.map(\.status) + [disturbed.status]
        report.crashes = statuses.count { $0 == 70 || $0 > 128 && ![137, 143].contains($0) }
        if disturbed.status == 137, !report.hit { report.crashes += 1 }
        report.crashes += ledger.broken.count
        if report.crashes > 0 { report.findings.append("crashed: \(statuses)") }
        return report
    }

    /// Runs the way to its end, or to that of the process; a loop is drained when each job was heard of.
    static func live(
        _ setting: KillSetting, _ playground: Playground, _ environment: [String: String]
    ) async throws -> ProgramResult {
        let program = try playground.start(
            setting.arguments(playground), environment: environment)
        guard setting.way == .loop else { return await program.finish() }
        var missing: Set = [
            "refresh", "upload", "status", "insights", "analysis", "cleanup", "audit", "note",
            "echo",
        ]
        var heard: [String] = []
        while !missing.isEmpty, let line = await program.readErrorLine() {
            heard.append(line)
            missing = missing.filter { !line.hasPrefix("\($0): ") }
        }
        program.signal(SIGTERM)
        var result = await program.finish()
        result.errors = heard.map { "\($0)\n" }.joined() + result.errors
        return result
    }
}
