import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Testing

/// Faults at the numbered points of a run for many wearers: a kill of its workers or of itself, a
/// connection that breaks, a file that cannot be read or written.
@Suite("Many wearers under faults", .serialized, .timeLimit(.minutes(40)))
struct AccountFaultTests {
    /// What goes wrong.
    enum Fault: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case kill, network, file

        var testDescription: String { rawValue }

        /// Draws where and how it strikes.
        func rule(
            _ life: Faultline, using random: inout SeededGenerator
        ) throws -> Faultline.Rule {
            let program: Faultline.Program =
                self == .network || Bool.random(using: &random) ? .worker : .scheduler
            let (point, action): (Faultline.Point, String)
            switch self {
            case .kill:
                point = [.any, .commit, .send].randomElement(using: &random) ?? .any
                action =
                    (program == .worker ? ["kill", "kill-parent", "kill-both"] : ["kill"])
                    .randomElement(using: &random) ?? "kill"
            case .network:
                point = [.send, .receive, .connect].randomElement(using: &random) ?? .send
                action = "ECONNRESET"
            case .file:
                point = [.write, .sync, .read, .open].randomElement(using: &random) ?? .write
                action = point == .open ? "EMFILE" : "EIO"
            }
            // The scheduler sends nothing.
            let place: Faultline.Point = program == .scheduler && point == .send ? .commit : point
            let count = try life.count(of: place, program: program)
            return Faultline.Rule(
                program: program, point: place,
                when: Bool.random(using: &random) ? .before : .after,
                nth: Int.random(in: 1...max(1, count), using: &random), action: action)
        }

        /// The statuses with which the run may end.
        var statuses: Set<Int32> {
            switch self {
            case .kill: [0, 69, 75]
            case .network: [0, 69, 75]
            case .file: [0, 1, 65, 66, 69, 74, 75, 77, 78]
            }
        }
    }

    @Test(arguments: Fault.allCases)
    func `a fault among many wearers loses and duplicates no sample`(
        fault: Fault
    ) async throws {
        let plan = ChaosPlan.current
        var random = plan.generator("accounts \(fault)")
        let policy = DeliveryJudge.Policy.drawn("accounts \(fault)").randomElement(using: &random)
        let scene = try await AccountScene(
            plan.size(slice: 4, whole: 50), policy ?? .deduplicates)
        let folder = scene.playground.folder.path
        let life = Faultline(counts: "\(folder)/life")
        let faultline = Faultline(counts: "\(folder)/counts")
        let uploads = ["run"] + scene.ids.map { "\($0)/upload" }
        let undisturbed = try await scene.start(uploads, life.environment(folder: folder)).finish()
        try #require(undisturbed.status == 0, "\(undisturbed.errors)")
        _ = try await scene.settle()
        var line = ChaosLine("accounts-\(fault)")
        var disturbed: [ClosedRange<Int>] = []

        let rounds = plan.size(slice: 2, whole: 10)
        // A life that is shorter than the first one may end before its fault.
        while line.rounds < rounds || line.faults.isEmpty && line.rounds < 5 * rounds {
            let rule = try fault.rule(life, using: &random)
            for id in scene.ids { try scene.grow(id, by: Int.random(in: 0...4, using: &random)) }
            faultline.reset()
            let first = try await scene.sandbox.lastSend() + 1
            let result = try await scene.start(
                uploads, faultline.environment(rules: [rule], folder: folder)
            ).finish()
            // What a killed program sent last may still be on its way.
            try await scene.sandbox.waitUntilQuiet()
            let last = try await scene.sandbox.lastSend()
            if last >= first { disturbed.append(first...last) }
            if try faultline.struck() > 0 {
                line.faults["\(rule.point)-\(rule.action.lowercased())", default: 0] += 1
            }
            // The killed say nothing.
            if fault != .kill || result.status != 137 {
                line.judge(
                    result, statuses: fault.statuses, "\(rule)", mostLines: 4 * scene.ids.count)
            }

            _ = try await scene.settle()
            let leftovers = try await scene.settle()
            let verdict = try await scene.judge(
                cutShort: nil, disturbed: disturbed,
                // A batch may also be cut short before any of it reaches the backend.
                mayBeHeld: 4 * AccountScene.batchSize * (line.rounds + 1))

            line.rounds += 1
            line.lost = verdict.lost
            line.doubled = verdict.doubled
            line.stuck = verdict.stuck
            #expect(verdict.findings + leftovers == [], "\(rule): \(result.errors)")
            #expect([verdict.lost, verdict.doubled, verdict.stuck] == [0, 0, 0], "\(rule)")
        }
        line.tell()
        #expect(line.faults.values.reduce(0, +) > 0)
    }
}
