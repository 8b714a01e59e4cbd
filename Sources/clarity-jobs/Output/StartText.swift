import ClarityScheduler

/// Formats the likely start of a job.
enum StartText {
    static func words(_ start: LikelyStart) -> String {
        switch start {
        case .running: "it runs"
        case .now: "now"
        case .at(let instant): "\(RunText.seconds(instant)), if conditions stay as they are"
        case .by(let instant, let dropped):
            "\(RunText.seconds(instant)) at the latest: from then on it does without "
                + dropped.joined(separator: ", ")
        case .estimated(let instant, let bases):
            "\(RunText.seconds(instant)), an estimate: "
                + bases.map(words).joined(separator: "; ")
        case .unknown(let notBefore, let doubts):
            "unknown"
                + (notBefore.map { ", not before \(RunText.seconds($0))" } ?? "")
                + ": " + doubts.map(words).joined(separator: "; ")
        case .never(let expires):
            "never: it is given up at \(RunText.seconds(expires)), before anything can change"
        }
    }

    private static func words(_ basis: LikelyStart.Basis) -> String {
        "\(basis.subject) holds it back since \(RunText.seconds(basis.since)), the median of "
            + "\(basis.times) earlier times is \(basis.median.text)"
    }

    private static func words(_ doubt: LikelyStart.Doubt) -> String {
        switch doubt {
        case .untilAsked: "nothing but a request, an event or a chain starts it"
        case .untilResumed: "it is paused until somebody resumes it"
        case .notWaitedFor(let subject): "\(subject) is in the way, and no run waits for it yet"
        case .tooFewTimes(let subject, let times):
            "\(subject) holds it back, and \(counted(times, "earlier times")) in 7 days"
                + " \(times == 1 ? "is" : "are") too few for an estimate"
        case .longerThanMostly(let basis):
            "\(words(basis)), and it has been longer"
        }
    }
}
