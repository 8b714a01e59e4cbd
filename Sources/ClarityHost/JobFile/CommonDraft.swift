import ClarityScheduler

/// The keys that jobs and `defaults:` share, as written in the file.
struct CommonDraft: Sendable {
    var constraints: Field<ConstraintsDraft>?
    var retry: Field<RetryDraft>?
    var overlap: Field<OverlapPolicy>?
    var catchUp: Field<CatchUpPolicy>?
    var onLost: Field<LossPolicy>?
    var startWithin: Field<Duration>?
    var relax: Field<[Field<RelaxationDraft>]>?
    var timeout: Field<Duration>?
    var stall: Field<Duration>?
    var memoryLimitBytes: Field<Int64>?

    static let shape = MappingSchema(
        CommonDraft(),
        [
            Key(
                "constraints", { swap(&$0.constraints, &$1) }, .mapping(ConstraintsDraft.shape),
                "conditions that must hold for a run to start"),
            Key(
                "retry", { swap(&$0.retry, &$1) }, .mapping(RetryDraft.shape),
                "how a failed run is retried"),
            Key(
                "overlap", { swap(&$0.overlap, &$1) }, .choice(of: OverlapPolicy.self),
                standard: "skip", "what happens to an occurrence during a run of the same job"),
            Key(
                "catch_up", { swap(&$0.catchUp, &$1) }, .catchUp, standard: "latest",
                "what happens to missed occurrences"),
            Key(
                "on_lost", { swap(&$0.onLost, &$1) }, .onLost, standard: "stop",
                "what happens to an attempt when a constraint no longer holds"),
            Key(
                "start_within", { swap(&$0.startWithin, &$1) },
                .duration(.seconds(60) ... .seconds(366 * 86_400)),
                "how late a run may start before it expires; without it there is no limit"),
            Key(
                "relax", { swap(&$0.relax, &$1) }, .list(of: .mapping(RelaxationDraft.shape)),
                "constraints that a late run drops"),
            Key(
                "timeout", { swap(&$0.timeout, &$1) },
                .duration(.seconds(1) ... .seconds(7 * 86_400)),
                "time limit of an attempt; without it 15m, or 30s in the class `app-refresh`"),
            Key(
                "stall", { swap(&$0.stall, &$1) }, .duration(.seconds(1) ... .seconds(7 * 86_400)),
                "how long an attempt may go without progress; without it there is no limit"),
            Key(
                "memory_limit", { swap(&$0.memoryLimitBytes, &$1) }, .size((16 << 20)...(1 << 40)),
                standard: "256MiB", "memory that an attempt may use before it is killed"),
        ])

    /// Inherits every key that this draft lacks from `defaults`, also within `constraints` and
    /// `retry`.
    mutating func inherit(from defaults: CommonDraft) {
        if var own = constraints?.value, let inherited = defaults.constraints?.value {
            own.inherit(from: inherited)
            constraints?.value = own
        }
        if var own = retry?.value, let inherited = defaults.retry?.value {
            RetryDraft.shape.inherit(&own, from: inherited)
            retry?.value = own
        }
        Self.shape.inherit(&self, from: defaults)
    }
}

/// `retry:` as written in the file.
struct RetryDraft: Sendable {
    var attempts: Field<Int>?
    var backoff: Field<RetryPolicy.Backoff>?
    var initial: Field<Duration>?
    var maximum: Field<Duration>?

    static let shape = MappingSchema(
        RetryDraft(),
        [
            Key(
                "attempts", { swap(&$0.attempts, &$1) }, .integer(1...100), standard: "5",
                "failed attempts after which the run fails"),
            Key(
                "backoff", { swap(&$0.backoff, &$1) }, .choice(of: RetryPolicy.Backoff.self),
                standard: "exponential", "how the waits between attempts grow"),
            Key(
                "initial", { swap(&$0.initial, &$1) }, .duration(waits), standard: "30s",
                "wait after the first failure"),
            Key(
                "maximum", { swap(&$0.maximum, &$1) }, .duration(waits), standard: "5h",
                "longest wait"),
        ])

    private static let waits = RetryPolicy.shortestInitial...RetryPolicy.longestMaximum

    /// The policy, with the engine's defaults for missing keys.
    var policy: RetryPolicy {
        let standard = RetryPolicy()
        return RetryPolicy(
            attempts: attempts?.value ?? standard.attempts,
            backoff: backoff?.value ?? standard.backoff,
            initial: initial?.value ?? standard.initial,
            maximum: maximum?.value ?? standard.maximum)
    }

    /// Reports an initial wait that is longer than the maximum wait.
    ///
    /// Reports it only if `own`, the part that is not inherited, has one of the two.
    func check(given own: RetryDraft, _ decoding: inout Decoding) {
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
