import ClarityScheduler

extension Zone {
    /// Returns the instant in RFC 3339 with the offset of this zone, such as
    /// `2026-11-20T06:00:00+01:00`.
    ///
    /// The offset includes seconds if it has any, as local times of the 19th century do.
    func text(_ instant: Instant) -> String {
        let offset = offset(at: instant)
        // Formats the local time as if it were UTC, then drops the `Z`.
        let local = (instant + offset).description.dropLast()
        let seconds = offset.components.seconds
        let parts = [seconds.magnitude / 3600, seconds.magnitude / 60 % 60, seconds.magnitude % 60]
        let shown = parts[2] == 0 ? parts.prefix(2) : parts[...]
        return local + (seconds < 0 ? "-" : "+")
            + shown.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
}

/// Shows instants to a person: near ones by their distance, others by the clock of a zone.
struct NearTimes {
    var zone: Zone
    var now: Instant

    /// Returns text such as `in 38 min`, `12 min ago`, `today 20:23`, `yesterday 06:00` or
    /// `2026-11-20 06:00`.
    func text(_ instant: Instant) -> String {
        let minutes = (instant - now).milliseconds / 60_000
        switch minutes {
        case 0: return "now"
        case 1..<60: return "in \(minutes) min"
        case -59 ... -1: return "\(-minutes) min ago"
        default: break
        }
        let local = zone.text(instant)
        let (date, time) = (local.prefix(10), local.dropFirst(11).prefix(5))
        let days = [("today", 0), ("tomorrow", 1), ("yesterday", -1)]
        let near = days.first { zone.text(now + .seconds($0.1 * 86_400)).prefix(10) == date }
        return "\(near?.0 ?? String(date)) \(time)"
    }
}
