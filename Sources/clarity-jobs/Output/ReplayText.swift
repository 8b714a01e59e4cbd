import ClarityScheduler
import JSON

/// How the decisions about a run, made again, are shown.
struct ReplayText {
    let run: Run
    /// In the order in which they were made.
    let replays: [(decision: Decision, replay: DecisionReplay)]

    /// Whether none came out otherwise.
    var agrees: Bool {
        replays.allSatisfy { if case .differs = $0.replay { false } else { true } }
    }

    /// Each decision with what it decided about the run, up to the first that comes out otherwise.
    var lines: [String] {
        var lines = [
            "run \(run.id) of \(run.job): \(replays.count) "
                + (replays.count == 1 ? "decision" : "decisions")
        ]
        for (decision, replay) in replays {
            lines.append("\(decision.moment.wall) by \(decision.owner): \(words(replay))")
            lines += decision.outcome(about: run.id).map { "  \($0)" }
            if case .differs(let recorded, let now) = replay {
                lines.append("  recorded: \(recorded ?? "nothing more")")
                lines.append("  now:      \(now ?? "nothing more")")
                return lines
            }
        }
        return lines
    }

    private func words(_ replay: DecisionReplay) -> String {
        switch replay {
        case .agrees: "the same again"
        case .differs: "not the same again"
        case .impossible: "not replayable, the text of its job file is not kept any more"
        }
    }

    var object: JSON {
        let first = replays.first { if case .differs = $0.replay { true } else { false } }
        var difference: JSON = .null
        if let first, case .differs(let recorded, let now) = first.replay {
            difference = [
                "at": .text(first.decision.moment.wall), "recorded": .text(recorded),
                "now": .text(now),
            ]
        }
        return [
            "run": .integer(run.id.rawValue), "job": .string(run.job.rawValue),
            "agrees": .bool(agrees), "first_difference": difference,
            "decisions": .array(
                replays.map { decision, replay in
                    [
                        "at": .text(decision.moment.wall), "owner": .string(decision.owner),
                        "origin": .string(decision.origin), "replay": .string(name(of: replay)),
                        "outcome": .array(
                            decision.outcome(about: run.id).map { .string($0) }),
                    ]
                }),
        ]
    }

    private func name(of replay: DecisionReplay) -> String {
        switch replay {
        case .agrees: "same"
        case .differs: "different"
        case .impossible: "not_replayable"
        }
    }
}
