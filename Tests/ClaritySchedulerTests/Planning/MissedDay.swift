import ClarityScheduler
import ClarityTestSupport
import Testing

/// Why the occurrences of an hourly job could not start, in the words of `docs/scheduling.md`.
enum MissedCause: String, CaseIterable {
    case down = "no scheduler ran"
    case deferred = "a constraint did not hold"
    case paused = "the job was paused"
    case overlapping = "a run was still going"
}

/// A day on which an hourly job ran at 12:00 and could not start again until `end`.
struct MissedDay {
    /// A start: the occurrence that it is for, and its time.
    struct Start: Equatable {
        var occurrence: String
        var at: Instant
    }

    /// 20:30.
    static let end = Instant.noon + .seconds(8 * 3600 + 1800)

    /// The starts from `end` until the next occurrence is due.
    private(set) var starts: [Start] = []
    /// The number of missed occurrences without exactly one run or outcome.
    private(set) var unaccounted = 0

    private var desk: PlanningDesk

    init(
        _ cause: MissedCause, catchUp: CatchUpPolicy, startWithin: Duration? = nil,
        overlap: OverlapPolicy = .queue, end: Instant = MissedDay.end
    ) throws {
        let job = try job(
            schedule: .every(.seconds(3600)), constraints: [.externalPower],
            startWithin: startWithin, overlap: overlap, catchUp: catchUp,
            timeout: .seconds(86_400))
        desk = PlanningDesk([job])
        let power = desk.conditions.externalPower
        try desk.handle(.tick)
        try desk.handle(.finished(RunID(1), .success()))
        var running = RunID(2)
        switch cause {
        case .down: break
        case .deferred: desk.conditions.externalPower = Conditions.Reading(false, source: "test")
        case .paused: try desk.handle(.pause([job.id], until: nil, reason: ""))
        case .overlapping: try desk.handle(.requested([job.id], isForced: false))
        }
        while desk.moment.wall + .seconds(3600) <= end {
            desk.pass(.seconds(3600))
            guard cause != .down, try desk.handle(.tick).signals[running] != nil else { continue }
            // The replaced run ends, and the new occurrence starts.
            let next = try desk.handle(.finished(running, .killed())).started.first
            running = try #require(next?.run)
        }
        desk.pass(end - desk.moment.wall)
        desk.conditions.externalPower = power
        let event: Planner.Event =
            switch cause {
            case .down: .tick
            case .deferred: .conditionsChanged
            case .paused: .resume([job.id])
            case .overlapping: .finished(running, .success())
            }
        try work(off: try desk.handle(event), until: .noon + .seconds(9 * 3600))
        account(for: job)
    }

    /// Lets each attempt succeed at once, and passes time while a run waits.
    private mutating func work(off first: Plan, until next: Instant) throws {
        var plan = first
        while true {
            if let order = plan.started.first {
                starts.append(
                    Start(
                        occurrence: String("\(order.scheduledFor)".dropFirst(11).prefix(5)),
                        at: desk.moment.wall))
                plan = try desk.handle(.finished(order.run, .success()))
            } else if let wake = plan.wakeAfter, desk.moment.wall + wake < next {
                desk.pass(wake)
                plan = try desk.handle(.tick)
            } else {
                return
            }
        }
    }

    private mutating func account(for job: Job) {
        var known: [Instant: Int] = [:]
        for run in desk.store.runs.values where [.schedule, .catchUp].contains(run.trigger) {
            known[run.scheduledFor, default: 0] += 1
        }
        for case .recordOutcome(_, _, let first, let latest, let count, _) in desk.store.outcomes {
            var instant = first
            for _ in 0..<count {
                known[instant, default: 0] += 1
                instant = instant + .seconds(3600)
            }
            if instant - .seconds(3600) != latest { unaccounted += 1 }
        }
        for hour in 0...8 where known[.noon + .seconds(3600) * hour] != 1 { unaccounted += 1 }
    }
}
