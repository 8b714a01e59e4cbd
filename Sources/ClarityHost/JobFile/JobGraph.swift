import ClarityScheduler
import Platform

/// The graph of jobs that start other jobs; checks ids and `then:` across the whole list.
struct JobGraph {
    private let jobs: [JobDeclaration.Listed]
    /// The first job with each id, by its index in the list.
    private var places: [JobID: Int] = [:]

    /// Creates a graph of the jobs as written in the file; some may lack an id.
    init(_ jobs: [JobDeclaration.Listed]) {
        self.jobs = jobs
        for (index, job) in jobs.enumerated() {
            guard let id = job.declaration.id?.value, places[id] == nil else { continue }
            places[id] = index
        }
    }

    /// Reports duplicate ids, ids in `then` that no job has, cycles, and jobs that start without a
    /// value that they need.
    func check(_ decoding: inout Decoding) {
        let ids = jobs.compactMap { $0.declaration.id?.value?.rawValue }
        for (index, job) in jobs.enumerated() {
            if let id = job.declaration.id, let value = id.value, let first = places[value],
                first != index
            {
                let line = jobs[first].declaration.id?.position.line ?? 0
                decoding.report(
                    id.position, "duplicate job id \(shown(value.rawValue)); first at line \(line)")
            }
            for next in job.declaration.then?.value?.all ?? [] {
                guard let id = next.value, places[id] == nil else { continue }
                decoding.reportUnknown(
                    "job", id.rawValue, in: "`then` of \(job.path.text)", at: next.position,
                    known: ids,
                    help: "no job of this file has that id")
            }
        }
        for circle in circles() { report(circle, &decoding) }
        reportMissingDefaults(&decoding)
    }

    /// Reports parameters without a default, of jobs that start by themselves.
    private func reportMissingDefaults(_ decoding: inout Decoding) {
        let followers = Set(jobs.flatMap { ($0.declaration.then?.value?.all ?? []).map(\.value) })
        for job in jobs {
            let declaration = job.declaration
            guard
                declaration.schedule != nil || declaration.events != nil
                    || declaration.id.map({ followers.contains($0.value) }) ?? false,
                let text = declaration.options[Parameters.option],
                let missing = Parameters(optionText: text)?.required.first
            else { continue }
            decoding.report(
                job.position,
                "\(job.path.text) starts by itself, and its parameter `\(missing.name)` has no "
                    + "`default`",
                help: "give it one, or leave the starts to `run --set \(missing.name)=VALUE`")
        }
    }

    private func report(_ circle: [Int], _ decoding: inout Decoding) {
        // Start with the cycle's first job in the file, whichever one the search met first.
        guard let start = circle.indices.min(by: { circle[$0] < circle[$1] }) else { return }
        let members = Array(circle[start...] + circle[..<start])
        let names = members.compactMap { jobs[$0].declaration.id?.value?.rawValue }
        guard let first = members.first, let then = jobs[first].declaration.then else { return }
        decoding.report(
            then.position,
            names.count == 1
                ? "job \(listed(names, "and")) starts itself (`then`)"
                : "jobs \(some(of: names)) start one another in a circle (`then`)")
    }

    /// Returns the names; if there are more than eight, the first eight and the number of the rest.
    private func some(of names: [String]) -> String {
        let rest = names.count - 8
        guard rest > 0 else { return listed(names, "and") }
        return names.prefix(8).map(shown).joined(separator: ", ") + " and \(rest) more"
    }

    private func followers(of job: Int) -> [Int] {
        (jobs[job].declaration.then?.value?.all ?? []).compactMap {
            $0.value.flatMap { places[$0] }
        }
    }

    /// Returns the cycles that a depth-first search from each job in turn finds; each job is in at
    /// most one.
    ///
    /// The search uses its own stack, because a chain may be as long as the file allows.
    private func circles() -> [[Int]] {
        enum State { case new, open, done }
        var states = [State](repeating: .new, count: jobs.count)
        var told: Set<Int> = []
        var found: [[Int]] = []
        for start in jobs.indices where states[start] == .new {
            var path: [(job: Int, rest: ArraySlice<Int>)] = [(start, followers(of: start)[...])]
            states[start] = .open
            while let last = path.indices.last {
                guard let next = path[last].rest.popFirst() else {
                    states[path[last].job] = .done
                    path.removeLast()
                    continue
                }
                switch states[next] {
                case .new:
                    states[next] = .open
                    path.append((next, followers(of: next)[...]))
                case .open:
                    let circle = path.drop { $0.job != next }.map(\.job)
                    if told.isDisjoint(with: circle) {
                        told.formUnion(circle)
                        found.append(circle)
                    }
                case .done:
                    break
                }
            }
        }
        return found
    }
}

/// `then:` as written in the file.
struct ThenDeclaration: Sendable {
    var succeeded: Field<[Field<JobID>]>?
    var failed: Field<[Field<JobID>]>?

    static let schema = MappingSchema(
        ThenDeclaration(),
        [
            Key(
                "succeeded", { swap(&$0.succeeded, &$1) }, .list(of: .jobID),
                "jobs that run after a success"),
            Key(
                "failed", { swap(&$0.failed, &$1) }, .list(of: .jobID),
                "jobs that run after a final failure"),
        ])

    /// The jobs that run after a success or a failure.
    var all: [Field<JobID>] { (succeeded?.value ?? []) + (failed?.value ?? []) }
}

extension ValueSchema where Value == ThenDeclaration {
    /// Reads the jobs that run after a success, or a mapping with lists for success and failure.
    static var then: ValueSchema {
        let list = ValueSchema<[Field<JobID>]>.list(of: .jobID)
        let mapping = ValueSchema.mapping(ThenDeclaration.schema)
        return ValueSchema(.either(list.description, mapping.description)) {
            node, path, decoding in
            if case .mapping = node.content { return mapping.decode(node, path, &decoding) }
            return list.decode(node, path, &decoding).map {
                ThenDeclaration(succeeded: Field(position: node.position, value: $0))
            }
        }
    }
}

/// The jobs that sections of a job file imply.
struct ImpliedJobs {
    /// The sections of the file that imply a job, each with the kind of the job.
    private let kinds: [(section: String, kind: JobKind)]

    /// Finds them by the sections that a file has.
    init(_ catalogue: JobCatalogue, _ sections: SectionValues) {
        kinds = catalogue.sections.compactMap { section in
            guard let kind = section.impliedJob, sections[section.key] != nil else { return nil }
            return (section.key, kind)
        }
    }

    /// Reports a job that has the id of an implied job, and another kind.
    func report(takenIn jobs: [JobDeclaration.Listed], _ decoding: inout Decoding) {
        for (section, kind) in kinds
        where !jobs.contains(where: { $0.declaration.kind?.value == kind }) {
            for job in jobs where job.declaration.id?.value?.rawValue == kind.rawValue {
                decoding.report(
                    job.position,
                    "job id \(shown(kind.rawValue)) is that of the job that "
                        + "`\(section)` implies", help: "give the job another id")
            }
        }
    }

    /// Adds the job that a section implies, unless the file has one of its kind, and lets it follow
    /// each job that fails.
    ///
    /// The job has none of the file's defaults: no constraint may keep it from saying what is wrong.
    func added(to jobs: [Job], options: [String: String]) -> [Job] {
        var jobs = jobs
        for (_, kind) in kinds {
            if !jobs.contains(where: { $0.kind == kind }), let id = JobID(declared: kind.rawValue) {
                let period = Duration.seconds(15 * 60)
                jobs.append(
                    Job(
                        id: id, kind: kind, schedule: .every(period), accountSpread: period,
                        overlap: .queue, timeout: .seconds(5 * 60), options: options))
            }
            let implied = jobs.first { $0.kind == kind }?.id
            for index in jobs.indices where jobs[index].kind != kind {
                jobs[index].thenFailed += [implied].compactMap(\.self).filter {
                    !jobs[index].thenFailed.contains($0)
                }
            }
        }
        return jobs
    }
}

/// Finds valid settings that can never take effect, or not as written.
///
/// Skips disabled jobs: none of their settings takes effect, as the file says.
struct JobWarnings {
    let defaults: CommonDeclaration
    let kinds: [JobKind: JobKindDeclaration]
    let now: Instant

    /// The number of consecutive openings of a job's windows to check: two months of daily
    /// openings, so that every weekday and every day of the month occurs.
    private static let closeOpenings = 60
    /// The number of openings to check after those, and the minimum time between two of them. They
    /// cover two clock changes, and every weekday again.
    private static let farOpenings = (count: 60, apart: Duration.seconds(11 * 86_400))
    /// A little more than 28 years, after which dates fall on the same weekdays again.
    private static let horizon: Duration = .seconds(28 * 366 * 86_400)

    func check(
        _ jobs: [(entry: JobDeclaration.Listed, job: Job?)], _ decoding: inout Decoding
    ) {
        let enabled = jobs.filter { $0.entry.declaration.isEnabled }
        let followers = enabled.flatMap { $0.entry.declaration.then?.value?.all ?? [] }
        let started = Set(followers.compactMap(\.value))
        var firstOfKind: [JobKind: JobID] = [:]
        for (entry, job) in enabled {
            checkStart(of: entry, started, &decoding)
            guard let job else { continue }
            checkKind(of: job, entry.declaration, &firstOfKind, &decoding)
            if let declaration = entry.declaration.schedule?.value {
                checkEnd(of: job, declaration, &decoding)
                checkStep(of: declaration, &decoding)
                checkWindows(of: job, declaration, &decoding)
            }
            let own = entry.declaration.common
            var common = own
            common.inherit(from: defaults)
            checkStall(of: job, own, common, &decoding)
            checkExpectation(of: job, own, common, &decoding)
            checkRelaxations(of: job, own, common, &decoding)
            checkCatchUp(of: job, own, common, &decoding)
        }
    }

    // MARK: The start of a job

    private func checkStart(
        of entry: JobDeclaration.Listed, _ started: Set<JobID>, _ decoding: inout Decoding
    ) {
        let declaration = entry.declaration
        let hasEvents = declaration.events.map { $0.value?.isEmpty != true } ?? false
        guard let id = declaration.id?.value, declaration.schedule == nil, !hasEvents,
            !started.contains(id)
        else { return }
        decoding.warn(
            entry.position,
            "nothing starts \(entry.path.text): it has no `schedule` and no `on`, and no job names "
                + "it in `then`")
    }

    private func checkKind(
        of job: Job, _ declaration: JobDeclaration, _ firstOfKind: inout [JobKind: JobID],
        _ decoding: inout Decoding
    ) {
        guard kinds[job.kind]?.isSingle == true, let kind = declaration.kind else { return }
        guard let first = firstOfKind[job.kind] else {
            firstOfKind[job.kind] = job.id
            return
        }
        decoding.warn(
            kind.position,
            "job \(shown(job.id.rawValue)) is of kind \(shown(job.kind.rawValue)), as is "
                + "\(shown(first.rawValue)): one job of this kind does all that there is to do")
    }

    // MARK: Schedules

    private func checkEnd(
        of job: Job, _ declaration: ScheduleDeclaration, _ decoding: inout Decoding
    ) {
        let eve = now - .milliseconds(1)
        guard let schedule = job.schedule, schedule.next(after: eve, anchor: now) == nil else {
            return
        }
        let named = Schedule(schedule.rule, delay: schedule.delay)
        if named.next(after: eve, anchor: now) != nil {
            if let notAfter = declaration.notAfter, let bound = notAfter.value {
                decoding.warn(
                    notAfter.position, "not_after `\(bound)` leaves nothing that is still to come")
            }
        } else if let at = declaration.at, let instant = at.value {
            decoding.warn(at.position, "at `\(instant)` is in the past, and starts nothing")
        } else if let calendar = declaration.calendar, let expression = calendar.value {
            decoding.warn(
                calendar.position,
                "calendar \(shown("\(expression)")) is in the past, and starts nothing")
        }
    }

    private func checkStep(of declaration: ScheduleDeclaration, _ decoding: inout Decoding) {
        guard let cron = declaration.cron, case .times(let expression) = cron.value,
            let step = expression.overstep, let field = step.field
        else { return }
        let number = step.got.hasPrefix("*/") ? step.got.dropFirst(2) : ""
        let help: String? =
            switch field {
            case .minute where !number.isEmpty: "`every: \(number)m` runs each \(number) minutes"
            case .hour where !number.isEmpty: "`every: \(number)h` runs each \(number) hours"
            default: nil
            }
        decoding.warn(
            cron.position,
            "cron \(shown("\(expression)")) has \(shown(step.got)) for the \(field.rawValue), a step "
                + "beyond its range, which names the first value alone", help: help)
    }

    private func checkWindows(
        of job: Job, _ declaration: ScheduleDeclaration, _ decoding: inout Decoding
    ) {
        guard let schedule = job.schedule else { return }
        let rule: (key: String, position: YAMLNode.Position, text: String)
        switch (schedule.rule, declaration.cron, declaration.calendar) {
        case (.cron(let expression, _), let cron?, _):
            rule = ("cron", cron.position, "\(expression)")
        case (.calendar(let expression, _), _, let calendar?):
            rule = ("calendar", calendar.position, "\(expression)")
        default: return
        }
        for case .window(let windows) in job.constraints where misses(windows, schedule) {
            decoding.warn(
                rule.position,
                "\(rule.key) \(shown(rule.text)) names no time within the job's window "
                    + "\(shown("\(windows)")): each run starts late")
        }
    }

    /// Whether no occurrence falls into the windows; jumps from each occurrence to the next
    /// opening.
    private func misses(_ windows: Windows, _ schedule: Schedule) -> Bool {
        var start = now - .milliseconds(1)
        for number in 0..<Self.closeOpenings + Self.farOpenings.count {
            guard let occurrence = schedule.next(after: start, anchor: now),
                occurrence < now + Self.horizon
            else { return number > 0 }
            guard !windows.isOpen(at: occurrence),
                let opening = windows.nextChange(after: occurrence)
            else { return false }
            start = opening - .milliseconds(1)
            if number >= Self.closeOpenings {
                start = max(start, occurrence + Self.farOpenings.apart)
            }
        }
        return true
    }

    // MARK: Spans and policies

    private func checkStall(
        of job: Job, _ own: CommonDeclaration, _ common: CommonDeclaration,
        _ decoding: inout Decoding
    ) {
        guard let stall = job.stall, stall >= job.timeout,
            let position = (own.stall ?? common.stall).map(\.position)
        else { return }
        decoding.warn(
            own.stall == nil ? own.timeout?.position ?? position : position,
            "stall `\(spanText(stall))` is not shorter than the timeout of "
                + "`\(spanText(job.timeout))`, and never ends an attempt")
    }

    private func checkExpectation(
        of job: Job, _ own: CommonDeclaration, _ common: CommonDeclaration,
        _ decoding: inout Decoding
    ) {
        guard let expected = job.expected, expected >= job.timeout,
            let position = (own.expected ?? common.expected).map(\.position)
        else { return }
        decoding.warn(
            own.expected == nil ? own.timeout?.position ?? position : position,
            "expect `\(spanText(expected))` is not shorter than the timeout of "
                + "`\(spanText(job.timeout))`, so that no attempt is ever slow")
    }

    private func checkRelaxations(
        of job: Job, _ own: CommonDeclaration, _ common: CommonDeclaration,
        _ decoding: inout Decoding
    ) {
        guard let startWithin = job.startWithin else { return }
        for step in common.relax?.value ?? [] {
            guard let after = step.value?.after, case .span(let span) = after.value,
                span > startWithin
            else { continue }
            let inherits = own.relax == nil ? own.startWithin?.position : nil
            decoding.warn(
                inherits ?? after.position,
                "after `\(spanText(span))` is later than the start_within of "
                    + "`\(spanText(startWithin))`: a run that is so late has expired")
        }
    }

    private func checkCatchUp(
        of job: Job, _ own: CommonDeclaration, _ common: CommonDeclaration,
        _ decoding: inout Decoding
    ) {
        guard case .all = job.catchUp, job.overlap == .replace,
            let position = own.catchUp?.position ?? own.overlap?.position
                ?? common.catchUp?.position
        else { return }
        decoding.warn(
            position,
            "`catch_up: all` has no effect with `overlap: replace`: a later occurrence takes the "
                + "place of the one before")
    }
}
