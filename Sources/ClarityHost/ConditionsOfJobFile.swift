import ClarityScheduler

extension HostConditions.Settings {
    /// What a job file says about the machine, and what its jobs ask of it.
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
    }
}
