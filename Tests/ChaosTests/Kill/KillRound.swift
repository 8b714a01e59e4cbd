import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Database
import Testing

/// A kill at one point of a life, and the run that repairs the state.
struct KillRound: Sendable {
    /// The processes that are killed.
    enum Victim: String, CaseIterable, Sendable { case worker, scheduler, both }

    /// The result of a round.
    struct Report: Sendable, CustomStringConvertible {
        var title: String
        var victim: Victim
        /// Whether somebody was killed.
        var hit = false
        /// How often the point was reached.
        var reached = 0
        /// The exit status of the interrupted command: 137 if it was itself the victim.
        var disturbed: Int32 = -1
        /// The exit status of the run that repairs the state.
        var rescue: Int32 = -1
        var lost = 0
        var doubled = 0
        var stuck = 0
        var crashes = 0
        /// Whether the session was lost, which a kill between a renewal and its answer may cause.
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

    /// Draws a round. One round in three kills at a commit or a send, the others at any point.
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
            // At a point of its own, or at a point of the worker that it has started.
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

    /// Creates a round with a given rule.
    init(_ setting: KillSetting, _ victim: Victim, _ rule: Faultline.Rule) {
        (self.setting, self.victim, self.rule) = (setting, victim, rule)
    }

    var title: String { "\(setting) \(victim) \(rule)" }

    /// Kills, repairs and counts.
    func run(against life: UndisturbedLife) async throws -> Report {
        var report = Report(title: title, victim: victim)
        let playground = try await setting.playground()
        let faultline = Faultline(counts: "\(playground.folder.path)/counts")
        try await setting.prepare(playground)

        let disturbed = try await KillRound.live(
            setting, playground,
            faultline.environment(rules: [rule], folder: playground.folder.path))
        report.hit = try faultline.struck() > 0
        report.reached = try faultline.count(of: rule.point, program: rule.program)
        report.disturbed = disturbed.status
        // What a killed program sent last may still be on its way.
        try await playground.sandbox?.waitUntilQuiet()
        try await playground.database?.waitUntilUnused()
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
            // The due jobs have had their turn, and found that nobody was logged in.
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
        // Counts ends by a signal that no test sent, and faults that the program reports as its
        // own.
        let statuses = results.map(\.status) + [disturbed.status]
        report.crashes = statuses.count { $0 == 70 || $0 > 128 && ![137, 143].contains($0) }
        if disturbed.status == 137, !report.hit { report.crashes += 1 }
        report.crashes += ledger.broken.count
        if report.crashes > 0 { report.findings.append("crashed: \(statuses)") }
        return report
    }

    /// Runs the command until it or its process ends. A loop is drained when it has reported each
    /// job.
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
