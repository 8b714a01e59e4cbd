import ClarityScheduler

// Why a run waits, as a sentence.
extension Deferral {
    /// What the run waits for, as it follows the word `waits`: `until run 3 has ended`, or
    /// `for network: wanted unmetered, is metered`.
    var wait: String {
        switch (reason, subject) {
        case (.overlap, _) where group != nil: inGroup(group ?? "")
        case (.backoff, _) where group != nil:
            "until \(instant): group `\(group ?? "")` has had \(measured)"
        case (.notDue, _), (.backoff, _): "until \(instant), \(occasion)"
        case (.paused, _):
            (wanted == "a resume" ? "until somebody resumes it" : "until \(instant)")
                + ": it is paused" + (source == "a person" ? "" : " (\(source))")
        case (.overlap, "overlap"): "until \(other) has ended"
        case (.constraint, "login"): "for a login: nobody is logged in"
        case (.constraint, "source"): "for its source file, which is missing"
        case (.constraint, _) where measured == "does not pass" || measured == "not asked":
            "for check \(check), which \(measured == "not asked" ? "was not asked" : measured)"
        case (.overlap, _), (.constraint, _): "for \(subject): wanted \(wanted), is \(measured)"
        }
    }

    /// Text such as `tries again at ...`, if it waits for its next attempt after a failure.
    var retry: String? {
        reason == .backoff && group == nil && source.hasPrefix("failure ")
            ? "tries again at \(instant)" : nil
    }

    /// The same with where the measured value comes from, if that is not in the sentence.
    var waitWithSource: String {
        reason == .constraint || isForSlot ? "\(wait) (\(source))" : wait
    }

    /// What the run waits for in a group: the end of the attempts that hold the places, or a place
    /// that another run keeps.
    private func inGroup(_ name: String) -> String {
        guard !measured.contains(" reserved: "), let start = measured.firstRange(of: ": ") else {
            return "for a place in group `\(name)`: wanted \(wanted), is \(measured)"
        }
        return "until a job of group `\(name)` has ended: \(measured[start.upperBound...])"
    }

    /// The name of the check in `wanted`, which says that it passes.
    private var check: String {
        wanted.hasSuffix(" passes") ? String(wanted.dropLast(" passes".count)) : wanted
    }

    /// The instant of `wanted`, which says `... or later`.
    private var instant: String {
        wanted.hasSuffix(" or later") ? String(wanted.dropLast(" or later".count)) : wanted
    }

    /// What the instant is counted from.
    private var occasion: String {
        switch subject {
        case "retry_after": "as the backend asked"
        case "catch_up": "so that what was missed does not start all at once"
        case "earliest_begin": "counted from the end of its last run"
        case "schedule": "by its schedule"
        default: "after \(source)"
        }
    }

    /// The run or attempt that has to end first, without its state.
    private var other: String {
        for end in [", which is ", " that is being ended"] {
            if let range = measured.firstRange(of: end) {
                return String(measured[..<range.lowerBound])
            }
        }
        return measured
    }
}
