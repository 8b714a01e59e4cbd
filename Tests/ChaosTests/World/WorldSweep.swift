import ClarityScheduler
import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// Faults of the world, one after the other, at the numbered points of what the programs do: each
/// call that writes a file, each call that receives from the backend, and so on.
///
/// First each deed runs without a fault, and its calls are counted. The rules that follow from the
/// counts are drawn, and each is a round: new samples, the deed under the rule, a clean run, and
/// the proof.
struct WorldSweep {
    /// A way in which one kind of call fails.
    struct Kind: Sendable {
        var point: Faultline.Point
        var action: String
        var whens: [Faultline.When] = [.before]
        /// Whether the call may also keep failing, until the program gives up.
        var mayGoOn = true
    }

    /// A rule for a deed.
    struct Round: Sendable, CustomStringConvertible {
        var deed: WorldScene.Deed
        var rule: Faultline.Rule

        var description: String { "`\(deed.rawValue)` under \(rule)" }
    }

    let part: String
    let kinds: [Kind]
    let deeds: [WorldScene.Deed]
    /// The statuses with which the disturbed program may end.
    let statuses: Set<Int32>
    /// The job file; the usual one by default.
    var jobFile = WorldScene.jobFile
    var policy = DeliveryJudge.Policy.deduplicates
    /// Whether the state is in a database and not in files.
    var isOnServer = false

    /// A home in which rounds run.
    private func scene() async throws -> WorldScene {
        try await WorldScene(
            policy, on: isOnServer ? try await StateDatabase() : nil, jobFile: jobFile)
    }

    /// The number of lanes in which rounds run side by side. Each lane has a home of its own.
    private var lanes: Int { ChaosPlan.current.size(slice: 1, whole: 3) }

    /// Runs this number of rounds and checks each.
    ///
    /// - Returns: the results, which the caller must print.
    func run(rounds wanted: Int) async throws -> ChaosLine {
        var random = ChaosPlan.current.generator(part)
        let home = try await self.scene()
        // Counting the calls of a deed takes as long as a round, so the slice takes two deeds.
        let deeds = deeds.shuffled(using: &random)
            .prefix(ChaosPlan.current.size(slice: 2, whole: .max))
        let all = try await plan(deeds, in: home)
        try #require(!all.isEmpty, "there is nothing to strike")
        let chosen = all.shuffled(using: &random).prefix(wanted)
        return try await withThrowingTaskGroup(of: ChaosLine.self) { group in
            for lane in 0..<lanes {
                let rounds = chosen.enumerated().filter { $0.offset % lanes == lane }.map(\.element)
                group.addTask { try await self.run(rounds, in: lane == 0 ? home : nil) }
            }
            var line = ChaosLine(part)
            for try await other in group { line.add(other) }
            return line
        }
    }

    /// Returns every rule for every call of these deeds.
    private func plan(
        _ deeds: some Sequence<WorldScene.Deed>, in scene: WorldScene
    ) async throws -> [Round] {
        var rounds: [Round] = []
        for deed in deeds {
            try scene.addSamples(8)
            let counting = Faultline(counts: "\(scene.playground.folder.path)/counts")
            counting.reset()
            let result = try await scene.run(
                deed, counting.environment(folder: scene.playground.folder.path))
            try #require(result.status == 0, "\(deed.rawValue): \(result.errors)")
            for kind in kinds {
                for program in Faultline.Program.allCases {
                    let count = try counting.count(of: kind.point, program: program)
                    for nth in 1..<max(count, 0) + 1 {
                        for when in kind.whens {
                            for goesOn in kind.mayGoOn ? [false, true] : [false] {
                                rounds.append(
                                    Round(
                                        deed: deed,
                                        rule: Faultline.Rule(
                                            program: program, point: kind.point, when: when,
                                            nth: nth, goesOn: goesOn, action: kind.action)))
                            }
                        }
                    }
                }
            }
            let clean = try await scene.settle()
            try #require(clean.status == 0, "\(clean.errors)")
        }
        return rounds
    }

    /// Runs rounds in one home, or in a new one.
    private func run(_ rounds: [Round], in home: WorldScene?) async throws -> ChaosLine {
        var scene = if let home { home } else { try await self.scene() }
        var line = ChaosLine(part)
        for round in rounds {
            try scene.addSamples(8)
            let faultline = Faultline(counts: "\(scene.playground.folder.path)/counts")
            faultline.reset()
            let current = scene
            let result = try await scene.disturb {
                try await current.run(
                    round.deed,
                    faultline.environment(
                        rules: [round.rule], folder: current.playground.folder.path))
            }
            let struck = try faultline.struck()
            let proof = try await scene.proof(after: round.deed)
            line.rounds += 1
            // A call that was not made this time cannot fail. A deed never makes exactly the same
            // calls.
            if struck > 0 {
                line.faults["\(round.rule.point)-\(round.rule.action.lowercased())", default: 0] +=
                    1
            }
            line.judge(result, statuses: statuses, "\(round)")
            line.add(proof)
            #expect(proof.holds, "\(round), which ended with \(result.status): \(proof)")
            if !proof.holds { scene = try await self.scene() }
        }
        return line
    }
}

extension WorldScene {
    /// The status of a program that is killed because it has not ended within a minute and a half.
    static let hangs: Int32 = 137

    /// Runs a deed with additions to its environment.
    func run(_ deed: Deed, _ environment: [String: String]) async throws -> ProgramResult {
        try await run(
            deed.arguments(playground), through: ["/usr/bin/timeout", "-s", "KILL", "90"],
            environment)
    }

    /// Runs `clarity-jobs` through other programs.
    func run(
        _ arguments: [String], through words: [String], _ environment: [String: String] = [:]
    ) async throws -> ProgramResult {
        var surroundings = [
            "CLARITY_JOBS_CONFIG": playground.jobFilePath,
            "CLARITY_JOBS_STATE": playground.statePath, "HOME": playground.folder.path,
            "PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no",
        ]
        surroundings.merge(environment) { $1 }
        let program = "\(ChildProgram.folder)/clarity-jobs"
        let command = playground.network?.command(program, arguments)
        let all = words + [command?.program ?? program] + (command?.arguments ?? arguments)
        return try await ChildProgram.run(
            all[0], Array(all.dropFirst()), environment: surroundings)
    }
}

extension ChaosLine {
    /// Adds the counts of a proof.
    mutating func add(_ proof: StateProof) {
        lost += proof.lost
        doubled += proof.doubled
        stuck += proof.stuck
    }

    /// Adds another line of the same part.
    mutating func add(_ other: ChaosLine) {
        rounds += other.rounds
        faults.merge(other.faults, uniquingKeysWith: +)
        lost += other.lost
        doubled += other.doubled
        stuck += other.stuck
        crashes += other.crashes
    }

    /// Checks how a disturbed program ended, and counts a crash or a hang.
    mutating func judge(
        _ result: ProgramResult, statuses: Set<Int32>, _ what: String,
        isWorkerExpendable: Bool = false, mostLines: Int = 20,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        if result.status == WorldScene.hangs { stuck += 1 }
        let manners = Manners(
            result, statuses: statuses, isWorkerExpendable: isWorkerExpendable,
            mostLines: mostLines)
        if manners.isCrash, result.status != WorldScene.hangs { crashes += 1 }
        #expect(manners.offences == [], "\(what)", sourceLocation: sourceLocation)
    }
}
