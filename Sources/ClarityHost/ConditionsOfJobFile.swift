public import ClarityScheduler

extension HostConditions.Settings {
    /// Creates settings from what a job file says about the machine and what its enabled jobs
    /// require.
    public init(_ file: JobFile) {
        self.init()
        interfaces = file.conditions.interfaces
        idleLoadBelow = file.conditions.idleLoadBelowPercent
        let constraints = file.enabledJobs.flatMap(\.constraints)
        storagePaths = Set(
            constraints.compactMap { constraint -> String? in
                if case .storageFree(_, let path) = constraint { path } else { nil }
            }
        ).sorted()
        sourcePaths = file.settings.filter {
            $0.key.hasPrefix("sources.") && $0.key.hasSuffix(".path")
        }.values.sorted()
        pressure =
            constraints.compactMap { constraint -> Int? in
                if case .pressureBelow(let percent) = constraint { percent } else { nil }
            }.min()
        asksServices = file.enabledJobs.contains(where: \.dependsOnServices)
    }
}

extension Job {
    /// Whether the job needs conditions that system services report, for its constraints, its
    /// events or its worker.
    public var dependsOnServices: Bool {
        heedsConditions || events.contains(.networkRestored)
            || constraints.contains { constraint in
                switch constraint {
                case .connected, .unmetered, .notRoaming, .externalPower, .batteryAbove,
                    .notLowPower, .idle:
                    true
                case .storageFree, .pressureBelow, .check, .window, .login, .source: false
                }
            }
    }
}
