import ClarityScheduler
import Platform

/// Builds jobs from drafts: applies the file's and the engine's defaults, and checks rules that
/// involve several keys.
struct JobAssembly {
    let defaults: DefaultsDraft
    /// The file's sections, as the options of every job have them.
    let sections: [String: String]
    let checks: KnownChecks
    /// The catalogue's declaration of each kind.
    let kinds: [JobKind: JobKindDeclaration]
    /// Whether each job runs once for each account: its delay is then the account's.
    var isForAccounts = false

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
            unknownIn: draft.common.constraints, of: .value(key: "constraints", of: entry.path),
            &decoding)
        let schedule = draft.schedule?.value
        let hasWindows = common.constraints?.value?.windows?.value?.isEmpty == false
        let times = draft.schedule.flatMap {
            self.schedule($0, of: entry, hasWindows: hasWindows, &decoding)
        }
        let constraints = constraints(common, of: entry, &decoding)
        guard let id = draft.id?.value, let kind = draft.kind?.value else { return nil }
        var job = Job(
            id: id, kind: kind, jobClass: draft.jobClass, schedule: times,
            accountSpread: isForAccounts ? spread(times, draft.schedule?.value) : .zero,
            earliestBegin: schedule?.earliestBegin?.value ?? .zero,
            events: events(of: draft),
            constraints: constraints, impliedConstraints: implied(constraints, common),
            unknownRules: common.constraints?.value?.unknown?.value?.rules ?? [:],
            relaxations: relaxations(of: common, own: draft.common, constraints, &decoding),
            onLost: common.onLost?.value ?? .stop, startWithin: common.startWithin?.value,
            priority: draft.priority,
            retry: common.retry?.value?.policy ?? RetryPolicy(),
            overlap: common.overlap?.value ?? .skip, catchUp: common.catchUp?.value ?? .latest,
            timeout: common.timeout?.value, warning: draft.warning?.value,
            stall: common.stall?.value,
            memoryLimitBytes: common.memoryLimitBytes?.value ?? Job.defaultMemoryLimitBytes,
            heedsConditions: kinds[kind]?.heedsConditions ?? false,
            emits: kinds[kind]?.events ?? [],
            then: (draft.then?.value?.succeeded?.value ?? []).compactMap(\.value),
            thenFailed: (draft.then?.value?.failed?.value ?? []).compactMap(\.value))
        job.options = sections.merging(draft.options) { _, own in own }
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

extension JobAssembly {
    /// Returns the schedule of a draft, which must have exactly one of `every`, `cron`, `calendar`
    /// and `at`; `@reboot` gives none.
    ///
    /// - Parameter hasWindows: whether the job has windows, which use the schedule's time zone too.
    func schedule(
        _ field: Field<ScheduleDraft>, of entry: JobDraft.Listed, hasWindows: Bool,
        _ decoding: inout Decoding
    ) -> Schedule? {
        guard let draft = field.value else { return nil }
        let path = CodingPath.value(key: "schedule", of: entry.path)
        let given = draft.givenRules
        guard given.count == 1 else {
            return decoding.fault(
                field.position,
                given.isEmpty
                    ? "\(path.text) has none of \(listed(ScheduleDraft.rules, "and"))"
                    : "\(path.text) has \(listed(given, "and")), wanted one of them")
        }
        reportIdleKeys(of: draft, path, hasWindows: hasWindows, &decoding)
        reportLongSpans(of: draft, &decoding)
        guard !draft.startsAtBoot, areBoundsInOrder(draft, &decoding),
            let rule = rule(draft, &decoding)
        else {
            return nil
        }
        let schedule = Schedule(
            rule, notBefore: draft.notBefore?.value, notAfter: draft.notAfter?.value,
            delay: delay(draft, entry, decoding.context.host),
            flex: draft.flex?.value ?? .zero)
        if let bound = draft.notAfter ?? draft.notBefore, schedule.neverFires {
            let bounds = [
                draft.notBefore.map { _ in "not_before" }, draft.notAfter.map { _ in "not_after" },
            ].compactMap(\.self)
            decoding.report(
                bound.position, "\(path.text) names nothing within \(listed(bounds, "and"))")
        }
        return schedule
    }

    /// Reports keys that have no effect without a rule that the draft lacks.
    private func reportIdleKeys(
        of draft: ScheduleDraft, _ path: CodingPath, hasWindows: Bool, _ decoding: inout Decoding
    ) {
        let needsZone = draft.cron != nil || draft.calendar != nil || hasWindows
        guard !draft.startsAtBoot else {
            let keys = [
                ("phase", draft.phase?.position), ("flex", draft.flex?.position),
                ("time_zone", hasWindows ? nil : draft.timeZone?.position),
                ("not_before", draft.notBefore?.position),
                ("not_after", draft.notAfter?.position),
                ("randomized_delay", draft.randomizedDelay?.position),
            ]
            for case (let key, let position?) in keys {
                decoding.report(
                    position, "\(shown(key)) of \(path.text) has no effect on `@reboot`")
            }
            return
        }
        let keys = [
            ("phase", draft.phase?.position, draft.every != nil, ["every"]),
            ("flex", draft.flex?.position, draft.every != nil, ["every"]),
            ("time_zone", draft.timeZone?.position, needsZone, ["cron", "calendar"]),
        ]
        for case (let key, let position?, false, let rules) in keys {
            decoding.report(
                position, "\(shown(key)) of \(path.text) has no \(listed(rules, "or")) to serve")
        }
    }

    /// Reports durations that are not shorter than the period of `every`.
    private func reportLongSpans(of draft: ScheduleDraft, _ decoding: inout Decoding) {
        guard let period = draft.every?.value else { return }
        let spans = [
            ("phase", draft.phase), ("flex", draft.flex),
            ("randomized_delay", draft.randomizedDelay),
        ]
        for (key, span) in spans {
            guard let span, let value = span.value, value >= period else { continue }
            decoding.report(
                span.position,
                "\(key) `\(spanText(value))` is not less than the period of "
                    + "`\(spanText(period))`")
        }
    }

    /// Whether the bounds leave time between them; also true if one of them is missing.
    private func areBoundsInOrder(
        _ draft: ScheduleDraft, _ decoding: inout Decoding
    ) -> Bool {
        guard let after = draft.notAfter, let last = after.value,
            let first = draft.notBefore?.value, last < first
        else { return true }
        decoding.report(
            after.position, "not_after `\(last)` is before the not_before `\(first)`")
        return false
    }

    private func rule(_ draft: ScheduleDraft, _ decoding: inout Decoding) -> Schedule.Rule? {
        if let period = draft.every?.value { return .every(period, phase: draft.phase?.value) }
        if let instant = draft.at?.value { return .at(instant) }
        if let cron = draft.cron, case .times(let expression) = cron.value {
            return zone(draft.timeZone, at: cron.position, &decoding)
                .map { .cron(expression, $0) }
        }
        if let calendar = draft.calendar, let expression = calendar.value {
            let zone =
                expression.timeZone.map { decoding.zone($0, at: calendar.position) }
                ?? zone(draft.timeZone, at: calendar.position, &decoding)
            return zone.map { .calendar(expression, $0) }
        }
        return nil
    }

    /// Returns the schedule's own zone, or else the file's, or else the machine's.
    func zone(
        _ own: Field<Zone>?, at position: YAMLNode.Position, _ decoding: inout Decoding
    ) -> Zone? {
        if let zone = own ?? defaults.timeZone { return zone.value }
        return decoding.zone(
            decoding.context.localZone, at: position,
            help: "that is what the machine says; name one with `time_zone`")
    }

    /// Returns the span over which the starts of a job are spread between accounts: the one that the
    /// file names, or else an hour, or the period of `every` if that is shorter.
    private func spread(_ schedule: Schedule?, _ draft: ScheduleDraft?) -> Duration {
        if let named = draft?.randomizedDelay?.value { return named }
        switch schedule?.rule {
        case .every(let period, _): return min(period, .seconds(3600))
        case .cron, .calendar: return .seconds(3600)
        case .at, nil: return .zero
        }
    }

    private func delay(
        _ draft: ScheduleDraft, _ entry: JobDraft.Listed, _ host: String
    ) -> Duration {
        guard !isForAccounts, let span = draft.randomizedDelay?.value,
            let id = entry.draft.id?.value
        else { return .zero }
        return stableDelay(within: span, host: host, job: id)
    }
}
