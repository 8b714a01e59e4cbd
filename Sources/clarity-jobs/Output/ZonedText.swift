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
