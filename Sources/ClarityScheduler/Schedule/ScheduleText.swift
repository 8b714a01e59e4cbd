extension Schedule: CustomStringConvertible {
    /// The schedule as people write it: `every 1h phase 10m flex 5m`,
    /// `cron 0 6,18 * * * Europe/London +7m30s`, `at 2026-11-20T06:00:00Z`; bounds follow as
    /// `not before` and `not after`.
    public var description: String {
        var parts = [rule.description]
        if flex > .zero { parts.append("flex \(joined(flex))") }
        if delay > .zero { parts.append("+\(joined(delay))") }
        if let notBefore { parts.append("not before \(notBefore)") }
        if let notAfter { parts.append("not after \(notAfter)") }
        return parts.joined(separator: " ")
    }
}

extension Schedule.Rule: CustomStringConvertible {
    /// The rule as people write it, with the zone of its clock.
    public var description: String {
        switch self {
        case .every(let period, nil): "every \(joined(period))"
        case .every(let period, let phase?): "every \(joined(period)) phase \(joined(phase))"
        case .cron(let expression, let zone): "cron \(expression) \(zone.identifier)"
        case .calendar(let expression, let zone):
            "calendar \(expression)"
                + (expression.timeZone == nil ? " \(zone.identifier)" : "")
        case .at(let instant): "at \(instant)"
        }
    }
}

/// Returns a span without blanks: `1h30m`.
private func joined(_ span: Duration) -> String { span.text.filter { $0 != " " } }
