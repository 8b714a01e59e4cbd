import ClarityJobs
import ClarityScheduler

/// Chooses the time zone that the days of an account follow when none is settled. That is the case
/// at the first import, and at the first import after a release that stored no zone or the
/// machine's.
///
/// The candidates are the named zones, then the zone that was stored, then the machine's. Without
/// any days the first candidate wins. Otherwise the candidate that most of the days follow wins,
/// and of several the first, because days that were sent must not be cut differently.
struct DayZoneChoice {
    /// The zones that a person named, the most important first.
    var named: [String]
    /// The zone that an earlier release stored.
    var noted: String?
    var local: String
    /// The start and end of each existing day, in seconds since 1970.
    var days: [Range<Int64>]

    /// Returns the name of the zone; `nil` if this machine knows none of the candidates.
    ///
    /// - Throws: `Failure` if there are days and none of them follows any candidate.
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

    /// Returns how many of the days go from midnight to midnight in a zone.
    private static func count(_ days: [Range<Int64>], in zone: Zone) -> Int {
        var local = LocalDays(zone: zone)
        return days.count { day in
            let found = local.day(at: day.lowerBound)
            return found.start == day.lowerBound && found.end == day.upperBound
        }
    }
}
