import ClarityJobs
import ClarityScheduler

/// Chooses the time zone that the days of an account follow when none is settled: at the first
/// reading, and at the first one after a release that kept none or the machine's.
///
/// It is a named zone, else the one that was noted, else the machine's. Where there are days already,
/// it is the first of these that most of the days follow: what is sent once must not be cut anew.
struct DayZoneChoice {
    /// The names that a person gave, the most important first.
    var named: [String]
    /// What an earlier release noted.
    var noted: String?
    var local: String
    /// When the days that there are begin and end, in seconds since 1970.
    var days: [Range<Int64>]

    /// The name of the zone; `nil` where none of them is known to this machine.
    ///
    /// - Throws: `Failure` when there are days and none follows any of the zones.
    func zone(_ find: (String) -> Zone?) throws(Failure) -> String? {
        let candidates = (named + [noted, local].compactMap { $0 }).compactMap(find)
        guard let first = candidates.first, !days.isEmpty else {
            return candidates.first?.identifier
        }
        var best = (zone: first, days: 0)
        for zone in candidates {
            let count = DayZoneChoice.count(days, in: zone)
            if count > best.days { best = (zone, count) }
        }
        guard best.days > 0 else {
            throw Failure(
                .configuration,
                "the \(days.count) days of this account do not follow `\(first.identifier)`; name "
                    + "their time zone with `time_zone` in the job file or with `--time-zone`")
        }
        return best.zone.identifier
    }

    /// How many of the days go from midnight to midnight in a zone.
    private static func count(_ days: [Range<Int64>], in zone: Zone) -> Int {
        var local = LocalDays(zone: zone)
        return days.count { day in
            let found = local.day(at: day.lowerBound)
            return found.start == day.lowerBound && found.end == day.upperBound
        }
    }
}
