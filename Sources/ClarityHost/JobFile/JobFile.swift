public import ClarityScheduler

/// What a job file says, checked and complete.
public struct JobFile: Hashable, Sendable {
    /// All jobs in the order of the file, also those that are not enabled. No two have the same id;
    /// every id in `then` is that of another job here, and none leads back to its own job.
    public var jobs: [Job]
    /// The jobs with `enabled: false`: listed, never planned.
    public var disabled: Set<JobID>
    /// The catalogue's sections, flattened: `backend.url`, `sources.0.path`. Each job has them among
    /// its options too.
    public var settings: [String: String]
    /// The folder of the state; `nil` where the file leaves it to the program.
    public var stateDirectory: String?
    /// The most attempts at the same time, 1 to 64; `nil` where the file leaves it to the program.
    public var maxParallel: Int?
    /// What the history keeps.
    public var retention: RetentionPolicy
    /// How this machine's conditions are found out.
    public var conditions: ConditionSettings
    /// The checks that the file declares, in its order; no two have the same name, and none is called
    /// `CheckDeclaration.probeName`.
    public var checks: [CheckDeclaration]
    /// The settings that are well formed and can never take effect, by rising line and column; empty
    /// unless the reader was given the present time.
    public internal(set) var warnings: [JobFileFault] = []

    /// Creates what a job file could say, unchecked.
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

    /// All that jobs may want an answer to: the checks, then the probe, if there is one.
    public var questions: [CheckDeclaration] {
        let probe = conditions.probe.map { url in
            CheckDeclaration(name: CheckDeclaration.probeName, question: .url(url))
        }
        return checks + (probe.map { [$0] } ?? [])
    }

    /// The jobs to plan: the enabled ones, which start enabled ones only.
    public var enabledJobs: [Job] {
        jobs.filter { !disabled.contains($0.id) }.map { job in
            var job = job
            job.then.removeAll { disabled.contains($0) }
            job.thenFailed.removeAll { disabled.contains($0) }
            return job
        }
    }
}
