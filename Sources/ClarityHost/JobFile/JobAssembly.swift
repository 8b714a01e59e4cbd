import ClarityScheduler
import Platform

/// Builds jobs from declarations: applies the file's and the engine's defaults, and checks rules that
/// involve several keys.
struct JobAssembly {
    let defaults: DefaultsDeclaration
    /// The file's sections, as the options of every job have them.
    let sections: [String: String]
    let checks: KnownChecks
    let groups: KnownGroups
    /// The catalogue's declaration of each kind.
    let kinds: [JobKind: JobKindDeclaration]
    /// Whether each job runs once for each account: its delay is then the account's.
    var isForAccounts = false

    /// Returns the job, and reports its faults; `nil` only if the id or the kind is missing or
    /// faulty.
    func job(_ entry: JobDeclaration.Listed, _ decoding: inout Decoding) -> Job? {
        let declaration = entry.declaration
        var common = declaration.common
        common.inherit(from: defaults.common)
        if let own = declaration.common.retry?.value {
            common.retry?.value?.check(given: own, &decoding)
        }
        checks.report(
            unknownIn: declaration.common.constraints,
            of: .value(key: "constraints", of: entry.path),
            &decoding)
        let schedule = declaration.schedule?.value
        let hasWindows = common.constraints?.value?.windows?.value?.isEmpty == false
        let times = declaration.schedule.flatMap {
            self.schedule($0, of: entry, hasWindows: hasWindows, &decoding)
        }
        let constraints = constraints(common, of: entry, &decoding)
        guard let id = declaration.id?.value, let kind = declaration.kind?.value else { return nil }
        // A program has no use for its last seconds unless the job file says so.
        let isWarnedAtLimit = kind == .command && declaration.warning?.value ?? .zero == .zero
        var job = Job(
            id: id, kind: kind, jobClass: declaration.jobClass, schedule: times,
            accountSpread: isForAccounts ? spread(times, declaration.schedule?.value) : .zero,
            earliestBegin: schedule?.earliestBegin?.value ?? .zero,
            events: events(of: declaration),
            constraints: constraints, impliedConstraints: implied(constraints, common),
            unknownRules: common.constraints?.value?.unknown?.value?.rules ?? [:],
            relaxations: relaxations(of: common, own: declaration.common, constraints, &decoding),
            onLost: common.onLost?.value ?? .stop, startWithin: common.startWithin?.value,
            priority: declaration.priority,
            retry: common.retry?.value?.policy ?? RetryPolicy(),
            overlap: common.overlap?.value ?? .skip, catchUp: common.catchUp?.value ?? .latest,
            timeout: common.timeout?.value,
            warning: isWarnedAtLimit ? nil : declaration.warning?.value,
            warnsAhead: !isWarnedAtLimit,
            stall: common.stall?.value, expected: common.expected?.value,
            machine: common.machine?.value,
            groups: groups.groups(of: entry, &decoding),
            memoryLimitBytes: common.memoryLimitBytes?.value ?? Job.defaultMemoryLimitBytes,
            heedsConditions: kinds[kind]?.heedsConditions ?? false,
            emits: kinds[kind]?.events ?? [],
            then: (declaration.then?.value?.succeeded?.value ?? []).compactMap(\.value),
            thenFailed: (declaration.then?.value?.failed?.value ?? []).compactMap(\.value))
        job.options = sections.merging(declaration.options) { _, own in own }
        if let warning = declaration.warning, job.warning >= job.timeout {
            decoding.report(
                warning.position,
                "warning `\(spanText(job.warning))` is not less than the timeout of "
                    + "`\(spanText(job.timeout))`")
        }
        return job
    }

    /// Returns the events that start the job; `@reboot` names no time, and counts as an event.
    private func events(of declaration: JobDeclaration) -> Set<EventName> {
        let named = Set((declaration.events?.value ?? []).compactMap(\.value))
        return declaration.schedule?.value?.startsAtBoot == true ? named.union([.boot]) : named
    }

    /// Returns the steps of `relax`; each step must drop a constraint that the job has.
    private func relaxations(
        of common: CommonDeclaration, own: CommonDeclaration, _ constraints: [Constraint],
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
    /// Returns the schedule of a declaration, which must have exactly one of `every`, `cron`, `calendar`
    /// and `at`; `@reboot` gives none.
    ///
    /// - Parameter hasWindows: whether the job has windows, which use the schedule's time zone too.
    func schedule(
        _ field: Field<ScheduleDeclaration>, of entry: JobDeclaration.Listed, hasWindows: Bool,
        _ decoding: inout Decoding
    ) -> Schedule? {
        guard let declaration = field.value else { return nil }
        let path = CodingPath.value(key: "schedule", of: entry.path)
        let given = declaration.givenRules
        guard given.count == 1 else {
            return decoding.fault(
                field.position,
                given.isEmpty
                    ? "\(path.text) has none of \(listed(ScheduleDeclaration.rules, "and"))"
                    : "\(path.text) has \(listed(given, "and")), wanted one of them")
        }
        reportIdleKeys(of: declaration, path, hasWindows: hasWindows, &decoding)
        reportLongSpans(of: declaration, &decoding)
        guard !declaration.startsAtBoot, areBoundsInOrder(declaration, &decoding),
            let rule = rule(declaration, &decoding)
        else {
            return nil
        }
        let schedule = Schedule(
            rule, notBefore: declaration.notBefore?.value, notAfter: declaration.notAfter?.value,
            delay: delay(declaration, entry, decoding.context.host),
            flex: declaration.flex?.value ?? .zero)
        if let bound = declaration.notAfter ?? declaration.notBefore, schedule.neverFires {
            let bounds = [
                declaration.notBefore.map { _ in "not_before" },
                declaration.notAfter.map { _ in "not_after" },
            ].compactMap(\.self)
            decoding.report(
                bound.position, "\(path.text) names nothing within \(listed(bounds, "and"))")
        }
        return schedule
    }

    /// Reports keys that have no effect without a rule that the declaration lacks.
    private func reportIdleKeys(
        of declaration: ScheduleDeclaration, _ path: CodingPath, hasWindows: Bool,
        _ decoding: inout Decoding
    ) {
        let needsZone = declaration.cron != nil || declaration.calendar != nil || hasWindows
        guard !declaration.startsAtBoot else {
            let keys = [
                ("phase", declaration.phase?.position), ("flex", declaration.flex?.position),
                ("time_zone", hasWindows ? nil : declaration.timeZone?.position),
                ("not_before", declaration.notBefore?.position),
                ("not_after", declaration.notAfter?.position),
                ("randomized_delay", declaration.randomizedDelay?.position),
            ]
            for case (let key, let position?) in keys {
                decoding.report(
                    position, "\(shown(key)) of \(path.text) has no effect on `@reboot`")
            }
            return
        }
        let keys = [
            ("phase", declaration.phase?.position, declaration.every != nil, ["every"]),
            ("flex", declaration.flex?.position, declaration.every != nil, ["every"]),
            ("time_zone", declaration.timeZone?.position, needsZone, ["cron", "calendar"]),
        ]
        for case (let key, let position?, false, let rules) in keys {
            decoding.report(
                position, "\(shown(key)) of \(path.text) has no \(listed(rules, "or")) to serve")
        }
    }

    /// Reports durations that are not shorter than the period of `every`.
    private func reportLongSpans(of declaration: ScheduleDeclaration, _ decoding: inout Decoding) {
        guard let period = declaration.every?.value else { return }
        let spans = [
            ("phase", declaration.phase), ("flex", declaration.flex),
            ("randomized_delay", declaration.randomizedDelay),
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
        _ declaration: ScheduleDeclaration, _ decoding: inout Decoding
    ) -> Bool {
        guard let after = declaration.notAfter, let last = after.value,
            let first = declaration.notBefore?.value, last < first
        else { return true }
        decoding.report(
            after.position, "not_after `\(last)` is before the not_before `\(first)`")
        return false
    }

    private func rule(_ declaration: ScheduleDeclaration, _ decoding: inout Decoding) -> Schedule
        .Rule?
    {
        if let period = declaration.every?.value {
            return .every(period, phase: declaration.phase?.value)
        }
        if let instant = declaration.at?.value { return .at(instant) }
        if let cron = declaration.cron, case .times(let expression) = cron.value {
            return zone(declaration.timeZone, at: cron.position, &decoding)
                .map { .cron(expression, $0) }
        }
        if let calendar = declaration.calendar, let expression = calendar.value {
            let zone =
                expression.timeZone.map { decoding.zone($0, at: calendar.position) }
                ?? zone(declaration.timeZone, at: calendar.position, &decoding)
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
    private func spread(_ schedule: Schedule?, _ declaration: ScheduleDeclaration?) -> Duration {
        if let named = declaration?.randomizedDelay?.value { return named }
        switch schedule?.rule {
        case .every(let period, _): return min(period, .seconds(3600))
        case .cron, .calendar: return .seconds(3600)
        case .at, nil: return .zero
        }
    }

    private func delay(
        _ declaration: ScheduleDeclaration, _ entry: JobDeclaration.Listed, _ host: String
    ) -> Duration {
        guard !isForAccounts, let span = declaration.randomizedDelay?.value,
            let id = entry.declaration.id?.value
        else { return .zero }
        return stableDelay(within: span, host: host, job: id)
    }
}
