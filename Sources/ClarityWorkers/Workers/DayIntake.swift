import ClarityJobs
import ClarityScheduler

/// Brings the days of all sources of an account into the outbox.
struct DayIntake {
    let store: HealthStore
    /// On whose clock the account's days are.
    let zone: Zone
    let now: Instant

    /// Keeps what a source knows of days.
    ///
    /// - Parameters:
    ///   - since: the instant before which nothing of it is wanted; of a day that begins before it
    ///     nothing is kept.
    ///   - isAnew: whether its days are merged again although nothing has changed.
    func keep(
        _ days: DayRecords, of entry: String, since: Instant?, isAnew: Bool = false
    ) throws {
        let layers = days.layers(since: since.map(firstDay) ?? .min)
        var keys = Set(layers.keys)
        // What an export does not have any more is gone.
        if days.isAll { keys.formUnion(try store.contributionKeys(of: entry)) }
        try store.contribute(keys, of: entry) { key, kept in
            days.updated(key, layers[key], kept: kept, isAnew: isAnew)
        }
    }

    /// Merges the days that have changed, whichever source changed them.
    ///
    /// - Parameter refuse: is told of each day that cannot be.
    func run(
        of reading: Reading?, _ report: inout SourceReport,
        _ refuse: (IntakeCheck.Refusal, Sample) -> Void
    ) throws -> EnqueueCounts {
        var (refused, unfinished): (Int64, Int64) = (0, 0)
        var isOpen = false
        let counts = try store.foldContributions(of: reading) { periods, load in
            var merged = HealthStore.Merged()
            for day in try DayMerge.days(periods, in: zone, now: now.secondsSince1970, load) {
                guard day.asOf >= day.bounds.end else {
                    unfinished += 1
                    if day.bounds.end > now.secondsSince1970, merged.open == nil {
                        merged.open = DayParts.period(of: day.bounds.start)
                        isOpen = true
                    }
                    continue
                }
                let sample = day.sample
                do throws(IntakeCheck.Refusal) {
                    let accepted = try IntakeCheck.accepted(sample, at: now)
                    merged.days.append(
                        (accepted, min(Instant(secondsSince1970: day.asOf), now)))
                } catch {
                    refused += 1
                    refuse(error, sample)
                }
            }
            return merged
        }
        // The files are read again until the day is over, since nothing else need change then.
        if isOpen, report.days?.isAll == false { report.endsNow = true }
        let made = counts.metrics + refused
        if made > 0 { report.made[.activity, default: 0] += made }
        if unfinished > 0 { report.unfinished[.activity, default: 0] += unfinished }
        return counts
    }

    /// The start of the first day that begins at or after an instant.
    private func firstDay(_ since: Instant) -> Int64 {
        var days = LocalDays(zone: zone)
        let seconds = since.secondsSince1970
        let day = days.day(at: seconds)
        return day.start == seconds ? seconds : day.end
    }
}

extension DayFolding.Day {
    /// The day as it is sent.
    var sample: Sample {
        Sample(
            kind: .activity, start: Instant(secondsSince1970: bounds.start),
            end: Instant(secondsSince1970: bounds.end), value: .activity(activity))
    }
}
