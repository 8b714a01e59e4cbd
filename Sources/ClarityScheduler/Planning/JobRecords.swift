/// The records of jobs by their ids.
///
/// A dictionary of fifty thousand records would keep room for as many more; here that room is for
/// places alone.
public struct JobRecords: Sendable {
    private var places: [JobID: Int32] = [:]
    private var records: [JobRecord] = []

    /// Creates an empty collection.
    public init() {}

    /// The record of a job; `nil` if nothing was ever recorded.
    public subscript(job: JobID) -> JobRecord? { places[job].map { records[Int($0)] } }

    /// The record of a job, which comes into being when it is changed.
    subscript(recorded job: JobID) -> JobRecord {
        get { self[job] ?? JobRecord() }
        _modify {
            let place = places[job] ?? Int32(records.count)
            if place == records.count {
                places[job] = place
                records.append(JobRecord())
            }
            yield &records[Int(place)]
        }
    }

    /// All records, in no order.
    public var values: some Sequence<JobRecord> { records }

    /// The same records in a dictionary.
    public var byJob: [JobID: JobRecord] { places.mapValues { records[Int($0)] } }
}

extension JobRecords: Hashable {
    public static func == (one: JobRecords, other: JobRecords) -> Bool {
        one.records.count == other.records.count
            && one.places.allSatisfy { job, place in other[job] == one.records[Int(place)] }
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(records.count) }
}

/// What is known of a job apart from its runs.
public struct JobRecord: Hashable, Sendable {
    /// How far the job's schedule has been handled; `nil` for a job that was never planned.
    public var clock: JobClock?
    /// When the job's last run that had an attempt finished.
    public var lastFinished: Instant?
    public var pause: Pause?
    /// A server wants no attempt of the job before this instant (Retry-After, RFC 9110 section
    /// 10.2.3); `nil` if none said so.
    public var retryAfter: Instant?

    /// Creates a record.
    public init(clock: JobClock? = nil, lastFinished: Instant? = nil, pause: Pause? = nil) {
        self.clock = clock
        self.lastFinished = lastFinished
        self.pause = pause
    }
}

/// How far a job's schedule has been handled.
public struct JobClock: Hashable, Sendable {
    /// When the job was first seen; `every` counts from here.
    public var anchor: Instant
    /// Every occurrence up to and including this instant has its run or its fate.
    public var considered: Instant
    /// How often the clock was set back; an occurrence is identified by its instant and era.
    public var era: Int
    /// The schedule that named those occurrences, as people write it.
    public var schedule: String
    /// Since when the job has this schedule; it names every occurrence after this instant.
    public var scheduleSince: Instant

    /// Creates a clock.
    public init(
        anchor: Instant, considered: Instant, era: Int = 0, schedule: String = "",
        scheduleSince: Instant? = nil
    ) {
        self.anchor = anchor
        self.considered = considered
        self.era = era
        self.schedule = schedule
        self.scheduleSince = scheduleSince ?? considered
    }
}
