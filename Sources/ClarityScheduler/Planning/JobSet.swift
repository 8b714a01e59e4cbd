/// The jobs to plan for, indexed by id and by the events that they wait for.
public struct JobSet: Hashable, Sendable {
    /// In the order of the job file.
    public let jobs: [Job]
    private let places: [JobID: Int]
    private let listeners: [EventName: [Int]]

    /// Creates a set; no two jobs may have the same id.
    public init(_ jobs: [Job]) {
        self.jobs = jobs
        places = Dictionary(uniqueKeysWithValues: jobs.enumerated().map { ($1.id, $0) })
        var listeners: [EventName: [Int]] = [:]
        for (place, job) in jobs.enumerated() {
            for event in job.events { listeners[event, default: []].append(place) }
        }
        self.listeners = listeners
    }

    public subscript(id: JobID) -> Job? { places[id].map { jobs[$0] } }

    /// Returns the jobs that name an event in `on:`, in the order of the job file.
    public func jobs(on event: EventName) -> [Job] { (listeners[event] ?? []).map { jobs[$0] } }
}
