import HealthStore
import HealthModel
import ClarityScheduler
import Platform
import Synchronization

/// The pipeline of samples into the outbox. While the caller reads a source, one thread
/// encrypts its samples and makes their blind indexes, and another writes them.
///
/// Samples move in portions. Only a few portions are under way, so that a fast stage waits for the
/// others.
struct IntakeLine: Sendable {
    /// The samples that move through the pipeline together.
    private struct Portion: Sendable {
        var samples: [Sample] = []
        var aggregates: [(sample: Sample, asOf: Instant)] = []

        var count: Int { samples.count + aggregates.count }

        mutating func add(_ sample: Sample, _ nature: SampleNature) {
            switch nature {
            case .measurement, .knownMeasurement: samples.append(sample)
            case .aggregate(let asOf): aggregates.append((sample, asOf))
            }
        }
    }

    /// The pipeline ended because one of its threads failed.
    private struct Ended: Error {}

    /// The results that the threads share.
    private struct State {
        var counts = EnqueueCounts()
        var failure: HealthStoreError?
    }

    private final class Shared: Sendable {
        let read = BlockingQueue<Portion>(room: 1)
        let encrypted = BlockingQueue<OutboxPortion>(room: 1)
        let state = Mutex(State())

        func cancel() {
            read.cancel()
            encrypted.cancel()
        }

        func fail(_ error: HealthStoreError) {
            state.withLock { if $0.failure == nil { $0.failure = error } }
            cancel()
        }
    }

    let store: HealthStore
    /// The number of samples in a portion, at least 1.
    var portion = Outbox.intakePortion

    init(_ store: HealthStore) { self.store = store }

    /// Calls `read`, which passes on samples, and returns when all of them are in the outbox.
    ///
    /// An error ends everything. What was committed before stays, nothing more is written once this
    /// returns, and no thread is left.
    ///
    /// - Parameter reading: the reading that counts the samples in the ledger.
    /// - Throws: the errors of `read`; `HealthStoreError`; `SystemError`.
    func run<Result>(
        of reading: Reading? = nil,
        _ read: (_ each: SampleHandler) throws -> Result
    ) throws -> (result: Result, counts: EnqueueCounts) {
        let shared = Shared()
        let store = store
        do {
            let result = try withThreads(
                [
                    { IntakeLine.encrypt(shared, store) },
                    { IntakeLine.write(shared, store, reading) },
                ],
                cancel: shared.cancel
            ) {
                do {
                    let result = try fill(shared.read, read)
                    shared.read.finish()
                    return result
                } catch {
                    shared.cancel()
                    throw error
                }
            }
            let state = shared.state.withLock { $0 }
            if let failure = state.failure { throw failure }
            return (result, state.counts)
        } catch is Ended {
            throw shared.state.withLock { $0.failure } ?? HealthStoreError.changedHands
        }
    }

    private func fill<Result>(
        _ line: BlockingQueue<Portion>,
        _ read: (_ each: SampleHandler) throws -> Result
    ) throws -> Result {
        // Reserves a whole portion at once: an array that grows by doubling takes up to twice as
        // much.
        func empty() -> Portion {
            var portion = Portion()
            portion.samples.reserveCapacity(self.portion)
            return portion
        }
        var next = empty()
        func put() throws {
            guard line.put(next) else { throw Ended() }
            next = empty()
        }
        let result = try read { sample, nature in
            next.add(sample, nature)
            if next.count >= portion { try put() }
        }
        if next.count > 0 { try put() }
        return result
    }

    private static func encrypt(_ shared: Shared, _ store: HealthStore) {
        do throws(HealthStoreError) {
            while let portion = shared.read.take() {
                let encrypted = try store.outbox.prepare(
                    portion.samples, aggregates: portion.aggregates)
                guard shared.encrypted.put(encrypted) else { return }
            }
            shared.encrypted.finish()
        } catch {
            shared.fail(error)
        }
    }

    private static func write(
        _ shared: Shared, _ store: HealthStore, _ reading: Reading?
    ) {
        do throws(HealthStoreError) {
            while let portion = shared.encrypted.take() {
                let counts = try store.outbox.commit(portion, of: reading)
                shared.state.withLock { $0.counts += counts }
            }
        } catch {
            shared.fail(error)
        }
    }
}

/// Merges the days of all sources of an account into the outbox.
struct DayIntake {
    let store: HealthStore
    /// The time zone of the account's days.
    let zone: Zone
    let now: Instant

    /// Stores a source's partial aggregate to the days.
    ///
    /// - Parameters:
    ///   - since: the earliest start of a wanted day; `nil` means any. Earlier days are not stored.
    ///   - isAnew: whether its days are merged again even if nothing has changed.
    func keep(
        _ days: DayRecords, of entry: String, since: Instant?, isAnew: Bool = false
    ) throws {
        let first = since.map(firstDay) ?? .min
        var keys = days.keys
        // A complete source also clears the periods that it no longer has.
        if days.isAll { keys.formUnion(try store.outbox.partialAggregateKeys(of: entry)) }
        try store.outbox.contribute(keys, of: entry) { key, kept in
            let layer = days.layer(key, since: first)
            return days.updated(key, layer, kept: kept) ?? (isAnew && layer != nil ? kept : nil)
        }
    }

    /// Merges the days that have changed, whichever source changed them. This includes days of an
    /// earlier reading whose process ended between `keep` and `run`.
    ///
    /// - Parameter refuse: called for each day that fails the check.
    func run(
        of reading: Reading?, _ report: inout SourceReport,
        _ refuse: (IntakeCheck.Refusal, Sample) -> Void
    ) throws -> EnqueueCounts {
        var (refused, unfinished): (Int64, Int64) = (0, 0)
        var open: Int64?
        let counts = try store.outbox.mergePartialAggregates(of: reading) { periods, load in
            var merged = Outbox.Merged()
            for day in try DayMerge.days(periods, in: zone, now: now.secondsSince1970, load) {
                guard day.asOf >= day.bounds.end else {
                    unfinished += 1
                    if day.bounds.end > now.secondsSince1970 {
                        merged.open = merged.open ?? DayParts.period(of: day.bounds.start)
                        open = min(open ?? day.bounds.end, day.bounds.end)
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
        // The file is read again when the day is over: it may be unchanged then.
        if let open, report.endsNow || report.days?.isAll == false {
            report.note(due: Instant(secondsSince1970: open))
        }
        let made = counts.metrics + refused
        if made > 0 { report.made[.activity, default: 0] += made }
        if unfinished > 0 { report.unfinished[.activity, default: 0] += unfinished }
        return counts
    }

    /// Returns the start of the first day that begins at or after an instant.
    private func firstDay(_ since: Instant) -> Int64 {
        var days = LocalDays(zone: zone)
        let seconds = since.secondsSince1970
        let day = days.day(at: seconds)
        return day.start == seconds ? seconds : day.end
    }
}

extension DayAggregation.Day {
    /// The day as it is sent.
    var sample: Sample {
        Sample(
            kind: .activity, start: Instant(secondsSince1970: bounds.start),
            end: Instant(secondsSince1970: bounds.end), value: .activity(activity))
    }
}

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
