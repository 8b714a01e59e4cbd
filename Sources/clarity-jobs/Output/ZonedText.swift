import ClarityScheduler

extension Zone {
    /// The instant as RFC 3339 with the offset of this zone: `2026-11-20T06:00:00+01:00`.
    ///
    /// An offset with seconds, which the local times of the 19th century have, is written with them.
    func text(_ instant: Instant) -> String {
        let offset = offset(at: instant)
        // What a clock in UTC shows when a clock here shows the instant.
        let local = (instant + offset).description.dropLast()
        let seconds = offset.components.seconds
        let parts = [seconds.magnitude / 3600, seconds.magnitude / 60 % 60, seconds.magnitude % 60]
        let shown = parts[2] == 0 ? parts.prefix(2) : parts[...]
        return local + (seconds < 0 ? "-" : "+")
            + shown.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
}
