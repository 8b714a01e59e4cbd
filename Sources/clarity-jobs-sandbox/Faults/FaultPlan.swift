/// The faults that are still to come.
struct FaultPlan: Sendable {
    private(set) var rules: [FaultRule] = []
    /// How many requests have met one since they were last forgotten.
    private(set) var struck = 0

    /// Adds a rule; those added before go first.
    mutating func add(_ rule: FaultRule) { rules.append(rule) }

    /// Forgets every fault.
    mutating func clear() { (rules, struck) = ([], 0) }

    /// The action for the next request of this kind, which is used up by asking; `nil` when no
    /// rule has one left.
    ///
    /// `segments` are those of the path after the base path.
    mutating func next(
        method: String, segments: [Substring], body: [UInt8] = []
    ) -> FaultAction? {
        guard
            let index = rules.firstIndex(where: {
                $0.matches(method: method, segments: segments, body: body)
            }), let step = rules[index].steps.first
        else { return nil }
        if let remaining = step.remaining {
            if remaining > 1 {
                rules[index].steps[0].remaining = remaining - 1
            } else {
                rules[index].steps.removeFirst()
                if rules[index].steps.isEmpty { rules.remove(at: index) }
            }
        }
        if step.action != .pass { struck += 1 }
        return step.action
    }
}
