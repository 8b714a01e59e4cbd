import ClarityScheduler
import ClaritySystem

/// Builds jobs from drafts: applies the file's and the engine's defaults, and checks rules that
/// involve several keys.
struct JobAssembly {
    let defaults: DefaultsDraft
    let settings: [String: String]
    let checks: KnownChecks
    /// The catalogue's declaration of each kind.
    let kinds: [JobKind: JobKindDeclaration]

    /// Returns the job, and reports its faults; `nil` only if the id or the kind is missing or
    /// faulty.
    func job(_ entry: JobDraft.Listed, _ decoding: inout Decoding) -> Job? {
        let draft = entry.draft
        var common = draft.common
        common.inherit(from: defaults.common)
        if let own = draft.common.retry?.value {
            common.retry?.value?.check(given: own, &decoding)
        }
        checks.report(
            unknownIn: draft.common.constraints, of: .value(key: "constraints", of: entry.place),
            &decoding)
        let schedule = draft.schedule?.value
        let hasWindows = common.constraints?.value?.windows?.value?.isEmpty == false
        let times = draft.schedule.flatMap {
            self.schedule($0, of: entry, hasWindows: hasWindows, &decoding)
        }
        let constraints = constraints(common, of: entry, &decoding)
        guard let id = draft.id?.value, let kind = draft.kind?.value else { return nil }
        var job = Job(
            id: id, kind: kind, jobClass: draft.jobClass?.value ?? .processing, schedule: times,
            earliestBegin: schedule?.earliestBegin?.value ?? .zero,
            events: events(of: draft),
            constraints: constraints, impliedConstraints: implied(constraints, common),
            unknownRules: common.constraints?.value?.unknown?.value?.rules ?? [:],
            relaxations: relaxations(of: common, own: draft.common, constraints, &decoding),
            onLost: common.onLost?.value ?? .stop, startWithin: common.startWithin?.value,
            priority: draft.priority?.value ?? .normal,
            retry: common.retry?.value?.policy ?? RetryPolicy(),
            overlap: common.overlap?.value ?? .skip, catchUp: common.catchUp?.value ?? .latest,
            timeout: common.timeout?.value, warning: draft.warning?.value,
            stall: common.stall?.value,
            memoryLimitBytes: common.memoryLimitBytes?.value ?? Job.standardMemoryLimitBytes,
            heedsConditions: kinds[kind]?.heedsConditions ?? false,
            emits: kinds[kind]?.events ?? [],
            then: (draft.then?.value?.succeeded?.value ?? []).compactMap(\.value),
            thenFailed: (draft.then?.value?.failed?.value ?? []).compactMap(\.value))
        job.options = settings.merging(draft.options) { _, own in own }
        if let warning = draft.warning, job.warning >= job.timeout {
            decoding.report(
                warning.position,
                "warning `\(spanText(job.warning))` is not less than the timeout of "
                    + "`\(spanText(job.timeout))`")
        }
        return job
    }

    /// Returns the events that start the job; `@reboot` names no time, and counts as an event.
    private func events(of draft: JobDraft) -> Set<EventName> {
        let named = Set((draft.events?.value ?? []).compactMap(\.value))
        return draft.schedule?.value?.startsAtBoot == true ? named.union([.boot]) : named
    }

    /// Returns the steps of `relax`; each step must drop a constraint that the job has.
    private func relaxations(
        of common: CommonDraft, own: CommonDraft, _ constraints: [Constraint],
        _ decoding: inout Decoding
    ) -> [Relaxation] {
        let wanted = Set(constraints.map(\.name))
        return (common.relax?.value ?? []).compactMap { step in
            guard
                let relaxation = step.value?.relaxation(
                    startWithin: common.startWithin?.value, &decoding)
            else { return nil }
            // `defaults` may drop a constraint that not every job has.
            if own.relax != nil, !wanted.contains(relaxation.drops), let drop = step.value?.drop {
                decoding.report(
                    drop.position,
                    "`relax` drops \(shown(relaxation.drops)), which the job does not ask for")
            }
            return relaxation
        }
    }
}
