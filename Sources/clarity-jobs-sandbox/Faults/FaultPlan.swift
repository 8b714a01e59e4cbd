/// The faults that are still to be injected.
struct FaultPlan: Sendable {
    private(set) var rules: [FaultRule] = []
    /// The number of requests that met a fault other than `pass` since `clear()`.
    private(set) var struck = 0

    /// Adds a rule; earlier rules take precedence.
    mutating func add(_ rule: FaultRule) { rules.append(rule) }

    /// Removes all rules and resets the count.
    mutating func clear() { (rules, struck) = ([], 0) }

    /// Returns the action for the next request of this kind and uses it up; `nil` if no rule has
    /// one left.
    ///
    /// - Parameter segments: the segments of the path after the base path.
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
