import ClarityScheduler

/// Makes jobs of drafts: fills in what the file's defaults and the engine's standards say, and
/// checks what no key shows by itself.
struct JobAssembly {
    let defaults: DefaultsDraft
    let settings: [String: String]

    /// The job; what is at fault in it is reported, and only its id and kind are needed for it.
    func job(_ entry: JobDraft.Listed, _ decoding: inout Decoding) -> Job? {
        let draft = entry.draft
        var common = draft.common
        common.inherit(from: defaults.common)
        if let own = draft.common.retry?.value {
            common.retry?.value?.check(given: own, &decoding)
        }
        let schedule = draft.schedule?.value
        let times = schedule.flatMap { self.schedule($0, of: entry, &decoding) }
        guard let id = draft.id?.value, let kind = draft.kind?.value else { return nil }
        var job = Job(
            id: id, kind: kind, jobClass: draft.jobClass?.value ?? .processing, schedule: times,
            earliestBegin: schedule?.earliestBegin?.value ?? .zero,
            events: Set((draft.events?.value ?? []).compactMap(\.value)),
            constraints: common.constraints?.value?.constraints ?? [],
            retry: common.retry?.value?.policy ?? RetryPolicy(),
            overlap: common.overlap?.value ?? .skip, catchUp: common.catchUp?.value ?? .latest,
            timeout: common.timeout?.value, warning: draft.warning?.value,
            memoryLimitBytes: common.memoryLimitBytes?.value ?? Job.standardMemoryLimitBytes,
            then: (draft.then?.value ?? []).compactMap(\.value))
        job.options = settings.merging(draft.options) { _, own in own }
        if let warning = draft.warning, job.warning >= job.timeout {
            decoding.report(
                warning.position,
                "warning `\(spanText(job.warning))` is not less than the timeout of "
                    + "`\(spanText(job.timeout))`")
        }
        return job
    }

    /// The schedule; exactly one of `every`, `cron` and `at` must be given.
    private func schedule(
        _ draft: ScheduleDraft, of entry: JobDraft.Listed, _ decoding: inout Decoding
    ) -> Schedule? {
        let position = entry.draft.schedule?.position ?? entry.position
        let given = [
            draft.every.map { _ in "every" }, draft.cron.map { _ in "cron" },
            draft.at.map { _ in "at" },
        ].compactMap(\.self)
        guard given.count == 1 else {
            decoding.report(
                position,
                given.isEmpty
                    ? "`schedule` of \(entry.name) has none of `every`, `cron` and `at`"
                    : "`schedule` of \(entry.name) has \(listed(given, "and")), wanted one of them"
            )
            return nil
        }
        if let zone = draft.timeZone, draft.cron == nil {
            decoding.report(
                zone.position, "`time_zone` of `schedule` of \(entry.name) has no `cron` to serve")
        }
        if let period = draft.every?.value { return .every(period) }
        if let instant = draft.at?.value { return .at(instant) }
        guard let cron = draft.cron, let expression = cron.value else { return nil }
        if let zone = draft.timeZone ?? defaults.timeZone {
            return zone.value.map { .cron(expression, $0) }
        }
        let local = decoding.zone(
            decoding.surroundings.localZone, at: cron.position,
            help: "that is what the machine says; name one with `time_zone`")
        return local.map { .cron(expression, $0) }
    }
}
