import ClarityScheduler

/// A job as written in the file.
struct JobDeclaration: Sendable {
    var id: Field<JobID>?
    var kind: Field<JobKind>?
    var jobClass = Job.Class.processing
    var schedule: Field<ScheduleDeclaration>?
    var events: Field<[Field<EventName>]>?
    var then: Field<ThenDeclaration>?
    var groups: Field<[Field<String>]>?
    var warning: Field<Duration>?
    var isEnabled = true
    var priority = Job.Priority.normal
    /// The options of the job's kind, as workers receive them.
    var options: [String: String] = [:]
    var common = CommonDeclaration()

    /// Returns the keys of a job; `options` is read separately, because its keys depend on the
    /// kind.
    private static func schema(_ catalogue: JobCatalogue) -> MappingSchema<JobDeclaration> {
        let kinds = catalogue.kinds.map { (name: $0.kind.rawValue, value: $0.kind) }
        let events = (EventName.ofTheEngine + catalogue.events).map {
            (name: $0.rawValue, value: $0)
        }
        let options = Key<JobDeclaration>(
            "options", set: { _, _ in },
            ValueSchema<Void>(
                .variants(
                    by: "kind",
                    Dictionary(
                        catalogue.kinds.map {
                            ($0.kind.rawValue, OptionsDeclaration.schema($0.options).descriptions)
                        }, uniquingKeysWith: { first, _ in first }))
            ) { _, _, _ in nil }, "options of the kind")
        let own: [Key<JobDeclaration>] = [
            Key(
                "id", { swap(&$0.id, &$1) }, .jobID, isRequired: true,
                "name of the job, unique in the file"),
            Key(
                "kind", { swap(&$0.kind, &$1) }, .choice(kinds), isRequired: true,
                "what the job does"),
            Key(
                "class", set: { $0.jobClass = $1 }, .choice(of: Job.Class.self),
                default: "processing",
                "whether the job is short or long; decides the default `timeout`"),
            Key(
                "priority", set: { $0.priority = $1 }, .choice(of: Job.Priority.self),
                default: "normal",
                "which of the waiting runs starts first"),
            Key(
                "enabled", set: { $0.isEnabled = $1 }, .boolean, default: "true",
                "whether the job is planned at all"),
            Key(
                "schedule", { swap(&$0.schedule, &$1) }, .schedule,
                "when the job runs: a mapping, or the text of its `cron`, `calendar` or `every`; "
                    + "without it only by event, after another job or by hand"),
            Key(
                "on", { swap(&$0.events, &$1) }, .list(of: .choice(events, noun: "event")),
                "events that start a run"),
            Key(
                "then", { swap(&$0.then, &$1) }, .then,
                "jobs that run after this one: a list after a success, or a mapping"),
            Key(
                "group", { swap(&$0.groups, &$1) }, .oneOrMore(.groupName, atMost: 8),
                "groups of `groups` whose limits the job shares"),
            Key(
                "warning", { swap(&$0.warning, &$1) }, .duration(.zero ... .seconds(7 * 86_400)),
                "how long before its time limit an attempt is asked to stop; without it 0s for "
                    + "`command`, else a fifth of `timeout`, at most 10s"),
        ]
        return MappingSchema(
            JobDeclaration(),
            own + CommonDeclaration.schema.keys.map { Key($0) { $1(&$0.common) } } + [options]
        )
    }

    /// The keys of a job.
    static func keys(_ catalogue: JobCatalogue) -> [KeyDescription] {
        schema(catalogue).descriptions
    }

    /// Reads a job with the kinds and options of `catalogue`.
    static func listed(_ catalogue: JobCatalogue) -> ValueSchema<Listed> {
        let schema = schema(catalogue)
        return ValueSchema<Listed>(.mapping(schema.descriptions)) { node, path, decoding in
            let path = node["id"]?.text.map { .job($0) } ?? path
            guard var declaration = schema.decode(node, in: path, &decoding) else { return nil }
            // Without a known kind, the options cannot be checked.
            let kind = node["kind"]?.text
            if let kind = catalogue.kinds.first(where: { $0.kind.rawValue == kind }) {
                // An empty mapping gets the default values, and has no required option.
                let options =
                    node["options"] ?? YAMLNode(position: node.position, content: .mapping([]))
                let path = CodingPath.value(key: "options", of: path)
                let schema =
                    options[OptionDeclaration.plainHTTP]?.text == "true"
                    ? OptionsDeclaration.schema(kind.options, allowsPlainHTTP: true)
                    : decoding.optionsSchema(of: kind)
                let faults = decoding.faults.count
                let taken = schema.decode(options, in: path, &decoding)
                declaration.options = taken?.values ?? [:]
                if decoding.faults.count == faults, let fault = kind.fault(declaration.options) {
                    decoding.report(options.position, "\(path.text): \(fault)")
                }
            }
            return Listed(path: path, position: node.position, declaration: declaration)
        }
    }

    /// A job in the list, and the path that messages use for it.
    struct Listed: Sendable {
        var path: CodingPath
        var position: YAMLNode.Position
        var declaration: JobDeclaration
    }
}

/// The keys that jobs and `defaults:` share, as written in the file.
struct CommonDeclaration: Sendable {
    var constraints: Field<ConstraintsDeclaration>?
    var retry: Field<RetryDeclaration>?
    var overlap: Field<OverlapPolicy>?
    var catchUp: Field<CatchUpPolicy>?
    var onLost: Field<LossPolicy>?
    var startWithin: Field<Duration>?
    var relax: Field<[Field<RelaxationDeclaration>]>?
    var timeout: Field<Duration>?
    var stall: Field<Duration>?
    var expected: Field<Duration>?
    var memoryLimitBytes: Field<Int64>?
    var machine: Field<String>?

    static let schema = MappingSchema(
        CommonDeclaration(),
        [
            Key(
                "constraints", { swap(&$0.constraints, &$1) },
                .mapping(ConstraintsDeclaration.schema),
                "conditions that must hold for a run to start"),
            Key(
                "retry", { swap(&$0.retry, &$1) }, .mapping(RetryDeclaration.schema),
                "how a failed run is retried"),
            Key(
                "overlap", { swap(&$0.overlap, &$1) }, .choice(of: OverlapPolicy.self),
                default: "skip",
                "what happens to an occurrence during a run of the same job"),
            Key(
                "catch_up", { swap(&$0.catchUp, &$1) }, .catchUp, default: "latest",
                "what happens to missed occurrences"),
            Key(
                "on_lost", { swap(&$0.onLost, &$1) }, .onLost, default: "stop",
                "what happens to an attempt when a constraint no longer holds"),
            Key(
                "start_within", { swap(&$0.startWithin, &$1) },
                .duration(.seconds(60) ... .seconds(366 * 86_400)),
                "how late a run may start before it expires; without it there is no limit"),
            Key(
                "relax", { swap(&$0.relax, &$1) },
                .list(of: .mapping(RelaxationDeclaration.schema)),
                "constraints that a late run drops"),
            Key(
                "timeout", { swap(&$0.timeout, &$1) },
                .duration(.seconds(1) ... .seconds(7 * 86_400)),
                "time limit of an attempt; without it 15m, or 30s in the class `app-refresh`"),
            Key(
                "stall", { swap(&$0.stall, &$1) }, .duration(.seconds(1) ... .seconds(7 * 86_400)),
                "how long an attempt may go without progress; without it there is no limit"),
            Key(
                "expect", { swap(&$0.expected, &$1) },
                .duration(.seconds(1) ... .seconds(7 * 86_400)),
                "time after which a running attempt is slow, for a notice; without it a minute more "
                    + "than three times what most of the last successful ones took"),
            Key(
                "memory_limit", { swap(&$0.memoryLimitBytes, &$1) }, .size((16 << 20)...(1 << 40)),
                default: sizeText(Job.defaultMemoryLimitBytes),
                "memory that an attempt may use before it is killed"),
            Key(
                "machine", { swap(&$0.machine, &$1) }, .machineName,
                "machine on which the job has to run, by its host name or one of its `labels`; "
                    + "without it any that is free"),
        ])

    /// Inherits every key that this declaration lacks from `defaults`, also within `constraints` and
    /// `retry`.
    mutating func inherit(from defaults: CommonDeclaration) {
        if var own = constraints?.value, let inherited = defaults.constraints?.value {
            own.inherit(from: inherited)
            constraints?.value = own
        }
        if var own = retry?.value, let inherited = defaults.retry?.value {
            RetryDeclaration.schema.inherit(&own, from: inherited)
            retry?.value = own
        }
        Self.schema.inherit(&self, from: defaults)
    }
}

/// `retry:` as written in the file.
struct RetryDeclaration: Sendable {
    var attempts: Field<Int>?
    var backoff: Field<RetryPolicy.Backoff>?
    var initial: Field<Duration>?
    var maximum: Field<Duration>?

    static let schema = MappingSchema(
        RetryDeclaration(),
        [
            Key(
                "attempts", { swap(&$0.attempts, &$1) }, .integer(1...100),
                default: "\(RetryPolicy().attempts)",
                "failed attempts after which the run fails"),
            Key(
                "backoff", { swap(&$0.backoff, &$1) }, .choice(of: RetryPolicy.Backoff.self),
                default: RetryPolicy().backoff.rawValue,
                "how the waits between attempts grow"),
            Key(
                "initial", { swap(&$0.initial, &$1) }, .duration(waits),
                default: spanText(RetryPolicy().initial),
                "wait after the first failure"),
            Key(
                "maximum", { swap(&$0.maximum, &$1) }, .duration(waits),
                default: spanText(RetryPolicy().maximum), "longest wait"),
        ])

    private static let waits = RetryPolicy.shortestInitial...RetryPolicy.longestMaximum

    /// The policy, with the engine's defaults for missing keys.
    var policy: RetryPolicy {
        let engine = RetryPolicy()
        return RetryPolicy(
            attempts: attempts?.value ?? engine.attempts,
            backoff: backoff?.value ?? engine.backoff,
            initial: initial?.value ?? engine.initial,
            maximum: maximum?.value ?? engine.maximum)
    }

    /// Reports an initial wait that is longer than the maximum wait.
    ///
    /// Reports it only if `own`, the part that is not inherited, has one of the two.
    func check(given own: RetryDeclaration, _ decoding: inout Decoding) {
        guard let position = own.initial?.position ?? own.maximum?.position else { return }
        let policy = policy
        if policy.initial > policy.maximum {
            decoding.report(
                position,
                "initial wait `\(spanText(policy.initial))` is longer than the maximum "
                    + "`\(spanText(policy.maximum))`")
        }
    }
}

// How long a job waits, which constraints a late run drops, and what happens to missed occurrences.

extension ValueSchema {
    /// Reads a word, or a mapping for values with numbers.
    static func either(_ word: ValueSchema, or mapping: ValueSchema) -> ValueSchema {
        ValueSchema(.either(word.description, mapping.description)) { node, path, decoding in
            switch node.content {
            case .scalar: word.decode(node, path, &decoding)
            case .mapping: mapping.decode(node, path, &decoding)
            case .sequence:
                decoding.reportMismatch(node, path, .either(word.description, .mapping([])))
            }
        }
    }
}

extension ValueSchema where Value == CatchUpPolicy {
    /// Reads `latest`, `none`, `all`, or the bounds of `all`.
    static var catchUp: ValueSchema {
        .either(
            .choice([
                ("latest", .latest), ("none", .none), ("all", .all(CatchUpBounds())),
            ]),
            or: ValueSchema<CatchUpBounds>.mapping(catchUpSchema).map { .all($0) })
    }
}

private let catchUpSchema = MappingSchema(
    CatchUpBounds(),
    [
        Key(
            "at_most", set: { $0.atMost = $1 }, .integer(1...CatchUpBounds.largestCount),
            default: "\(CatchUpBounds().atMost)",
            "maximum number of runs that wait; older occurrences are skipped"),
        Key(
            "within", set: { $0.window = $1 }, .duration(.seconds(60) ... .seconds(366 * 86_400)),
            "age after which a missed occurrence expires; without it there is no limit"),
        Key(
            "spread", set: { $0.spread = $1 }, .duration(.zero...CatchUpBounds.longestSpread),
            default: "0s", "time over which the starts are spread"),
    ])

extension ValueSchema where Value == LossPolicy {
    /// Reads `stop`, `finish`, or the duration of `finish_within`.
    static var onLost: ValueSchema {
        .either(.choice([("stop", .stop), ("finish", .finish)]), or: .mapping(lossSchema))
    }
}

private let lossSchema = MappingSchema(
    LossPolicy.stop,
    [
        Key(
            "finish_within", set: { $0 = .finishWithin($1) },
            .duration(.seconds(1) ... .seconds(7 * 86_400)), isRequired: true,
            "time that the attempt gets to finish")
    ])

/// How late a run is: a duration, or a share of its start deadline.
enum Lateness: Hashable, Sendable {
    case span(Duration)
    case share(percent: Int)
}

extension ValueSchema where Value == Lateness {
    /// Reads a duration such as `3h`, or a share such as `70%` of `start_within`.
    static var lateness: ValueSchema {
        let span = ValueSchema<Duration>.duration(.seconds(1) ... .seconds(366 * 86_400))
        let share = ValueSchema<Int>.percent(1...99)
        return .scalar(.either(span.description, share.description)) {
            text, node, path, decoding in
            text.hasSuffix("%")
                ? share.decode(node, path, &decoding).map { .share(percent: $0) }
                : span.decode(node, path, &decoding).map { .span($0) }
        }
    }
}

/// A step of `relax:`.
struct RelaxationDeclaration: Sendable {
    /// The constraints that can be dropped, by their names in the job file.
    private static let names = ConstraintsDeclaration.constraintKeys.map(\.name)

    var after: Field<Lateness>?
    var drop: Field<String>?

    static let schema = MappingSchema(
        RelaxationDeclaration(),
        [
            Key(
                "after", { swap(&$0.after, &$1) }, .lateness, isRequired: true,
                "how late the run is, or a percentage of `start_within`"),
            Key(
                "drop", { swap(&$0.drop, &$1) },
                .choice(names.map { ($0, $0) }, noun: "constraint"), isRequired: true,
                "constraint to drop"),
        ])

    /// Returns the step for a job with this `startWithin`; reports a share if the job has none.
    func relaxation(startWithin: Duration?, _ decoding: inout Decoding) -> Relaxation? {
        guard let after, let lateness = after.value, let drops = drop?.value else { return nil }
        switch lateness {
        case .span(let span): return Relaxation(after: span, drops: drops)
        case .share(let percent):
            guard let startWithin else {
                return decoding.fault(
                    after.position,
                    "`after` `\(percent)%` is a share of `start_within`, which the "
                        + "job does not have", help: "give `start_within`, or `after` as a span")
            }
            return Relaxation(after: startWithin * percent / 100, drops: drops)
        }
    }
}
