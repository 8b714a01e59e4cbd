/// The times of day at which a job may run, on one zone's clock.
///
/// A window follows what the clock shows: `01:00-02:30` is open whenever the clock shows such a
/// time. It opens twice when the clock is set back over it, and not at all when the clock skips it.
public struct Windows: Hashable, Sendable {
    public let windows: [Window]
    public let zone: Zone

    /// Creates a set of windows, which is open while any of them is open.
    public init(_ windows: [Window], in zone: Zone) {
        self.windows = windows
        self.zone = zone
    }

    /// Whether any of the windows is open at an instant.
    public func isOpen(at instant: Instant) -> Bool {
        let time = zone.civilTime(at: instant)
        return windows.contains { $0.contains(time) }
    }

    /// Returns the first instant after `instant` at which the set opens or closes; `nil` if it
    /// never does.
    ///
    /// Searches a bit more than a week ahead. After that the clock's days repeat, apart from
    /// changes of the clock, so a set that does not change until then counts as never changing.
    public func nextChange(after instant: Instant) -> Instant? {
        let isOpen = isOpen(at: instant)
        let today = zone.civilTime(at: instant)
        let day = CivilTime.daysSince1970(year: today.year, month: today.month, day: today.day)
        // A clock enters or leaves a window at one of its ends, or when it is put forward or back.
        var candidates = zone.changes(in: instant..<instant + Windows.horizon).map(\.at)
        for offset in 0...Windows.days {
            let date = CivilTime.date(daysSince1970: day + offset)
            // A window that ends at midnight ends at the first minute of the next day.
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
    /// Returns the time that the zone's clocks show at an instant.
    func civilTime(at instant: Instant) -> CivilTime {
        CivilTime(instant.millisecondsSince1970 + offset(at: instant).milliseconds)
    }

    /// Returns the instants at which a clock shows a minute of a date, or the change of the clock
    /// if it skips the minute.
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
