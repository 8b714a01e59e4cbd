/// The times of day at which a job may run, on one zone's clock.
///
/// What counts is what the clock shows: `01:00-02:30` is open whenever it shows such a time, so that
/// it is open twice when the clock is put back over it and never when the clock skips it.
public struct Windows: Hashable, Sendable {
    public let windows: [Window]
    public let zone: Zone

    /// Creates windows; one open window is enough.
    public init(_ windows: [Window], in zone: Zone) {
        self.windows = windows
        self.zone = zone
    }

    /// Whether one of them is open at an instant.
    public func isOpen(at instant: Instant) -> Bool {
        let time = zone.civilTime(at: instant)
        return windows.contains { $0.contains(time) }
    }

    /// The first instant after `instant` at which they open or close; `nil` where they never do.
    ///
    /// Looks a bit more than a week ahead, after which the clock's days repeat but for changes of the
    /// clock: what is always open until then has no other instant.
    public func nextChange(after instant: Instant) -> Instant? {
        let isOpen = isOpen(at: instant)
        let today = zone.civilTime(at: instant)
        let day = CivilTime.daysSince1970(year: today.year, month: today.month, day: today.day)
        // A clock enters or leaves a window at one of its ends, or when it is put forward or back.
        var candidates = zone.changes(in: instant..<instant + Windows.horizon).map(\.at)
        for offset in 0...Windows.days {
            let date = CivilTime.date(daysSince1970: day + offset)
            // What ends at midnight ends with the first minute of the next day.
            for minute in Set(windows.flatMap { [$0.start, $0.end % Window.day] }) {
                candidates += zone.instants(date, minute: minute)
            }
        }
        return candidates.filter { $0 > instant }.sorted().first { self.isOpen(at: $0) != isOpen }
    }

    private static let days = 8
    private static let horizon: Duration = .seconds(Int64(days) * 86_400)
}

extension Windows: CustomStringConvertible {
    /// The windows as the job file writes them.
    public var description: String { windows.map(\.description).joined(separator: ", ") }
}

extension Zone {
    /// What the zone's clocks show at an instant.
    func civilTime(at instant: Instant) -> CivilTime {
        CivilTime(instant.millisecondsSince1970 + offset(at: instant).milliseconds)
    }

    /// The instants at which a clock shows a minute of a date; where it skips the minute, the change.
    fileprivate func instants(
        _ date: (year: Int, month: Int, day: Int), minute: Int
    ) -> [Instant] {
        let time = CivilTime(
            year: date.year, month: date.month, day: date.day, hour: minute / 60,
            minute: minute % 60)
        return switch resolve(time) {
        case .once(let instant): [instant]
        case .twice(let earlier, let later): [earlier, later]
        case .skipped(let until): [until]
        }
    }
}
