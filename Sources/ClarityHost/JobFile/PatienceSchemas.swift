import ClarityScheduler

// How long a job waits, which constraints a late run drops, and what happens to missed occurrences.

extension ValueSchema {
    /// Reads a word, or a mapping for values with numbers.
    static func either(_ word: ValueSchema, or mapping: ValueSchema) -> ValueSchema {
        let description = FormDescription.either(word.description, mapping.description)
        return ValueSchema(description) { node, place, decoding in
            switch node.content {
            case .scalar: word.decode(node, place, &decoding)
            case .mapping: mapping.decode(node, place, &decoding)
            case .sequence:
                decoding.reportingForm(node, place, description)
            }
        }
    }
}

extension Decoding {
    fileprivate mutating func reportingForm<Value>(
        _ node: YAMLNode, _ place: CodingPath, _ wanted: FormDescription
    ) -> Value? {
        reportForm(node, place, wanted)
        return nil
    }
}

extension ValueSchema where Value == CatchUpPolicy {
    /// Reads `latest`, `none`, `all`, or the bounds of `all`.
    static var catchUp: ValueSchema {
        .either(
            .choice([
                ("latest", .latest), ("none", .none), ("all", .all(CatchUpBounds())),
            ]),
            or: ValueSchema<CatchUpDraft>.mapping(CatchUpDraft.shape).map { .all($0.bounds) })
    }
}

/// `catch_up:` written as a mapping.
struct CatchUpDraft: Sendable {
    var atMost: Field<Int>?
    var within: Field<Duration>?
    var spread: Field<Duration>?

    static let shape = MappingSchema(
        CatchUpDraft(),
        [
            Key(
                "at_most", { swap(&$0.atMost, &$1) }, .integer(1...CatchUpBounds.largestCount),
                standard: "100", "maximum number of runs that wait; older occurrences are skipped"),
            Key(
                "within", { swap(&$0.within, &$1) },
                .duration(.seconds(60) ... .seconds(366 * 86_400)),
                "age after which a missed occurrence expires; without it there is no limit"),
            Key(
                "spread", { swap(&$0.spread, &$1) }, .duration(.zero...CatchUpBounds.longestSpread),
                standard: "0s", "time over which the starts are spread"),
        ])

    var bounds: CatchUpBounds {
        CatchUpBounds(
            atMost: atMost?.value ?? CatchUpBounds().atMost, window: within?.value,
            spread: spread?.value ?? .zero)
    }
}

extension ValueSchema where Value == LossPolicy {
    /// Reads `stop`, `finish`, or the duration of `finish_within`.
    static var onLost: ValueSchema {
        .either(
            .choice([("stop", .stop), ("finish", .finish)]),
            or: ValueSchema<LossDraft>.mapping(LossDraft.shape).map { draft in
                draft.finishWithin?.value.map { .finishWithin($0) } ?? .stop
            })
    }
}

/// `on_lost:` written as a mapping.
struct LossDraft: Sendable {
    var finishWithin: Field<Duration>?

    static let shape = MappingSchema(
        LossDraft(),
        [
            Key(
                "finish_within", { swap(&$0.finishWithin, &$1) },
                .duration(.seconds(1) ... .seconds(7 * 86_400)), isRequired: true,
                "time that the attempt gets to finish")
        ])
}

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
            text, node, place, decoding in
            text.hasSuffix("%")
                ? share.decode(node, place, &decoding).map { .share(percent: $0) }
                : span.decode(node, place, &decoding).map { .span($0) }
        }
    }
}

/// A step of `relax:`.
struct RelaxationDraft: Sendable {
    /// The constraints that can be dropped, by their names in the job file.
    private static let names = ConstraintsDraft.constraintKeys.map(\.description.name)

    var after: Field<Lateness>?
    var drop: Field<String>?

    static let shape = MappingSchema(
        RelaxationDraft(),
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
                decoding.report(
                    after.position,
                    "`after` `\(percent)%` is a share of `start_within`, which the "
                        + "job does not have", help: "give `start_within`, or `after` as a span")
                return nil
            }
            return Relaxation(after: startWithin * percent / 100, drops: drops)
        }
    }
}
