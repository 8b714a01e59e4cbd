import ClarityScheduler
import Testing

/// Makes a job for a test; by default it is due at once and then every four hours.
func job(
    _ id: String = "a", schedule: Schedule? = .every(.seconds(4 * 3600)),
    constraints: [Constraint] = [], relaxations: [Relaxation] = [], onLost: LossPolicy = .stop,
    startWithin: Duration? = nil, priority: Job.Priority = .normal, stall: Duration? = nil,
    earliestBegin: Duration = .zero, overlap: OverlapPolicy = .skip,
    catchUp: CatchUpPolicy = .latest, attempts: Int = 3,
    timeout: Duration = .seconds(100), warning: Duration = .seconds(20), then: [JobID] = [],
    thenFailed: [JobID] = [], events: Set<EventName> = [], groups: [LimitGroup] = []
) throws -> Job {
    Job(
        id: try #require(JobID(id)), kind: JobKind("work"), schedule: schedule,
        earliestBegin: earliestBegin, events: events, constraints: constraints,
        relaxations: relaxations, onLost: onLost, startWithin: startWithin, priority: priority,
        retry: RetryPolicy(attempts: attempts), overlap: overlap, catchUp: catchUp,
        timeout: timeout, warning: warning, stall: stall, groups: groups, then: then,
        thenFailed: thenFailed)
}

func id(_ text: String) throws -> JobID { try #require(JobID(text)) }
