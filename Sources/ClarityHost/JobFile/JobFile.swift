public import ClarityScheduler

/// The contents of a job file, checked and complete.
public struct JobFile: Hashable, Sendable {
    /// All jobs in the order of the file, including disabled ones. Each id is unique. Every id in
    /// `then` and `thenFailed` belongs to another job here, and no chain of them leads back to its
    /// own job.
    public var jobs: [Job]
    /// The jobs with `enabled: false`: listed but never planned.
    public var disabled: Set<JobID>
    /// The catalogue's sections, flattened: `backend.url`, `sources.0.path`. The options of each
    /// job also contain them.
    public var settings: [String: String]
    /// The state directory; `nil` if the file does not set it.
    public var stateDirectory: String?
    /// The maximum number of attempts at the same time, 1 to 64; `nil` if the file does not set it.
    public var maxParallel: Int?
    /// The history's retention policy.
    public var retention: RetentionPolicy
    /// The settings for measuring this machine's conditions.
    public var conditions: ConditionSettings
    /// The checks that the file declares, in its order. Each name is unique, and none is
    /// `CheckDeclaration.probeName`.
    public var checks: [CheckDeclaration]
    /// The valid settings that can never take effect, in ascending order of line and column; empty
    /// unless the reader was given the current time.
    public internal(set) var warnings: [JobFileFault] = []

    /// Creates the contents of a job file without checking them.
    public init(
        jobs: [Job], disabled: Set<JobID> = [], settings: [String: String] = [:],
        stateDirectory: String? = nil, maxParallel: Int? = nil,
        retention: RetentionPolicy = RetentionPolicy(),
        conditions: ConditionSettings = ConditionSettings(), checks: [CheckDeclaration] = []
    ) {
        self.jobs = jobs
        self.disabled = disabled
        self.settings = settings
        self.stateDirectory = stateDirectory
        self.maxParallel = maxParallel
        self.retention = retention
        self.conditions = conditions
        self.checks = checks
    }

    /// All checks that jobs may need: the declared ones, then the probe, if there is one.
    public var questions: [CheckDeclaration] {
        let probe = conditions.probe.map { url in
            CheckDeclaration(name: CheckDeclaration.probeName, question: .url(url))
        }
        return checks + (probe.map { [$0] } ?? [])
    }

    /// The jobs to plan: the enabled ones, without references to disabled ones.
    public var enabledJobs: [Job] {
        jobs.filter { !disabled.contains($0.id) }.map { job in
            var job = job
            job.then.removeAll { disabled.contains($0) }
            job.thenFailed.removeAll { disabled.contains($0) }
            return job
        }
    }
}
