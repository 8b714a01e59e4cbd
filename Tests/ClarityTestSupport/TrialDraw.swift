import ClarityScheduler

/// Draws everything for a trial: jobs, spans, steps of the clock, conditions and ends of attempts.
struct TrialDraw {
    private var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    var seed: UInt64 { mutating get { random.next() } }

    mutating func number(_ range: ClosedRange<Int64>) -> Int64 {
        Int64.random(in: range, using: &random)
    }

    mutating func isOne(in count: Int64) -> Bool { number(1...count) == 1 }

    mutating func index(of elements: [some Any]) -> Int {
        Int.random(in: elements.indices, using: &random)
    }

    mutating func one<Element>(of elements: [Element]) -> Element {
        elements[index(of: elements)]
    }

    /// Returns about half of the elements, in their order.
    mutating func some<Element>(of elements: [Element]) -> [Element] {
        elements.filter { _ in isOne(in: 2) }
    }

    // MARK: Time

    /// An instant to begin at. One in ten is that of a machine whose clock was never set.
    var instant: Instant {
        mutating get {
            isOne(in: 10)
                ? Instant(millisecondsSince1970: number(0...100_000))
                : .noon + .milliseconds(number(0...86_400_000))
        }
    }

    /// A span between two events. The longest spans are those of a suspended machine.
    var span: Duration {
        mutating get {
            switch number(0...9) {
            case 0: .zero
            case 1: .milliseconds(number(1...999))
            case 2...4: .seconds(number(1...59))
            case 5...7: .seconds(number(60...1800))
            case 8: .seconds(number(1800...20_000))
            default: .seconds(number(20_000...200_000))
            }
        }
    }

    /// Returns the wall clock after a step of seconds, hours or days, or into another year.
    mutating func step(from wall: Instant) -> Instant {
        let sign: Int64 = isOne(in: 2) ? 1 : -1
        return switch number(0...7) {
        case 0...2: wall + .seconds(sign * number(1...300))
        case 3...5: wall + .seconds(sign * number(300...20_000))
        case 6: wall + .seconds(sign * number(20_000...2_000_000))
        default: instant
        }
    }

    // MARK: Jobs

    private static let names = ["a", "b", "c", "d"]
    /// The events that attempts emit, and all events that jobs may wait for.
    static let told = [EventName("half-done"), EventName("all-done")]
    static let events = EventName.ofTheEngine + told
    /// The most attempts that the retry policy of any job allows.
    static let mostAttempts = 4
    private static let constraints: [Constraint] = [
        .connected, .unmetered, .notRoaming, .externalPower, .idle, .storageFree(bytes: 1 << 20),
        .check(Check(name: "door")), .check(Check(name: "probe", subject: "network")),
        .check(Check(name: "nas", validFor: .seconds(3600))),
    ]

    /// The id of a job.
    var anyJob: JobID {
        mutating get {
            guard let id = JobID(one(of: TrialDraw.names)) else {
                preconditionFailure("the names are job ids, got \(TrialDraw.names)")
            }
            return id
        }
    }

    /// Returns some jobs with everything drawn. Another process may have others under the same
    /// names.
    mutating func jobs(around wall: Instant) -> [Job] {
        let groups = groups
        return TrialDraw.names.indices.compactMap { index in
            isOne(in: 6) ? nil : job(index, schedule(around: wall), groups)
        }
    }

    /// All jobs, each with a schedule that never ends.
    var lastingJobs: [Job] {
        mutating get {
            let groups = groups
            return TrialDraw.names.indices.compactMap { index in
                var job = job(
                    index, one(of: [cron("30 3 * * *"), .every(.seconds(4 * 3600))]), groups)
                // A job that is due only while its window is closed may never run.
                if job?.constraints.contains(where: { $0.name == "window" }) ?? false {
                    job?.startWithin = nil
                    job?.catchUp = .latest
                }
                return job
            }
        }
    }

    private mutating func job(
        _ index: Int, _ schedule: Schedule?, _ groups: [LimitGroup]
    ) -> Job? {
        guard let id = JobID(TrialDraw.names[index]) else { return nil }
        let timeout = Duration.seconds(number(2...900))
        // Chains go one way, as the job file ensures.
        let later = TrialDraw.names[(index + 1)...].compactMap { JobID($0) }
        return Job(
            id: id, kind: JobKind("work"), schedule: schedule,
            earliestBegin: isOne(in: 3) ? .seconds(number(1...7200)) : .zero,
            events: Set(TrialDraw.events.filter { _ in isOne(in: 3) }),
            constraints: constraints, unknownRules: unknownRules,
            relaxations: isOne(in: 3) ? [relaxation, relaxation] : [],
            onLost: one(of: [.stop, .stop, .finish, .finishWithin(.seconds(number(1...600)))]),
            startWithin: isOne(in: 3) ? .seconds(number(600...20_000)) : nil,
            priority: one(of: Job.Priority.allCases),
            retry: RetryPolicy(
                attempts: Int(number(1...Int64(TrialDraw.mostAttempts))),
                backoff: one(of: RetryPolicy.Backoff.allCases),
                initial: .seconds(number(10...600))),
            overlap: one(of: OverlapPolicy.allCases), catchUp: catchUp,
            timeout: timeout, warning: .seconds(number(1...(timeout.components.seconds - 1))),
            stall: isOne(in: 3) ? .seconds(number(1...600)) : nil,
            groups: groups.filter { _ in isOne(in: 2) },
            then: later.filter { _ in isOne(in: 3) })
    }

    private var constraints: [Constraint] {
        mutating get {
            let constraints = TrialDraw.constraints.filter { _ in isOne(in: 4) }
            guard isOne(in: 6), let window else { return constraints }
            return constraints + [.window(Windows([window], in: .utc))]
        }
    }

    /// Groups with drawn limits. Another process may know others by the same names.
    private var groups: [LimitGroup] {
        mutating get {
            ["disk", "api"].map { name in
                LimitGroup(
                    name, atOnce: isOne(in: 3) ? nil : Int(number(1...2)),
                    rate: isOne(in: 2)
                        ? Rate(Int(number(1...4)), per: .seconds(number(60...900))) : nil)
            }
        }
    }

    private var window: Window? {
        mutating get { try? Window(one(of: ["22:00-06:30", "Mon..Fri 09:00-17:00"])) }
    }

    private var unknownRules: [String: UnknownRule] {
        mutating get {
            isOne(in: 3)
                ? [one(of: TrialDraw.constraints).name: one(of: UnknownRule.allCases)] : [:]
        }
    }

    private var relaxation: Relaxation {
        mutating get {
            Relaxation(
                after: .seconds(number(1...10_000)), drops: one(of: TrialDraw.constraints).name)
        }
    }

    /// The most runs of a job that may wait under `catch_up: all`.
    static let mostCaughtUp: Int64 = 4
    /// The most backfill runs of a job that may wait.
    static let mostBackfilled = 2
    /// The values that a request may set for a parameter.
    static let values = [["SIZE": "0"], ["SIZE": "1"]]
    /// The longest time over which caught-up runs are spread, in seconds.
    static let longestSpread: Int64 = 7200

    private var catchUp: CatchUpPolicy {
        mutating get {
            switch number(0...3) {
            case 0: .none
            case 1...2: .latest
            default:
                .all(
                    CatchUpBounds(
                        atMost: Int(number(1...TrialDraw.mostCaughtUp)),
                        window: isOne(in: 2) ? .seconds(number(60...100_000)) : nil,
                        spread: .seconds(isOne(in: 2) ? 0 : number(1...TrialDraw.longestSpread))))
            }
        }
    }

    /// Returns the end of a pause, or `nil` for a pause without end.
    mutating func pauseEnd(after wall: Instant) -> Instant? {
        isOne(in: 2) ? nil : wall + .seconds(number(-100...30_000))
    }

    private mutating func schedule(around wall: Instant) -> Schedule? {
        switch number(0...9) {
        case 0...1: nil
        case 2...4: .every(.seconds(one(of: [1, 60, 900, 3600, 14_400])))
        case 5:
            Schedule(
                .every(.seconds(3600), phase: isOne(in: 2) ? .seconds(600) : nil),
                notBefore: isOne(in: 3) ? wall + .seconds(number(-4000...4000)) : nil,
                notAfter: isOne(in: 3) ? wall + .seconds(number(5000...90_000)) : nil,
                delay: .seconds(number(0...300)), flex: .seconds(number(0...3000)))
        case 6: .at(wall + .seconds(number(-4000...40_000)))
        case 7: cron("30 3 * * *")
        case 8: cron("*/7 * * * *")
        default: cron("0 6,18 * * mon-fri")
        }
    }

    private func cron(_ text: String) -> Schedule? {
        (try? CronExpression(text)).map { .cron($0, .utc) }
    }

    // MARK: Conditions and ends

    /// Changes one condition: to yes, to no, or to unknown.
    mutating func flip(_ conditions: inout Conditions) {
        let value = one(of: [true, false, nil])
        let reading = Conditions.Reading(value, source: "trial", isSampled: isOne(in: 3))
        switch number(0...7) {
        case 0: conditions.connected = reading
        case 1: conditions.metered = reading
        case 2: conditions.roaming = reading
        case 3: conditions.externalPower = reading
        case 4: conditions.idle = reading
        case 5: conditions.login = reading
        case 6: conditions.source = reading
        default:
            conditions.storageFreeBytes = Conditions.Reading(
                value.map { $0 ? 1 << 30 : 0 }, source: "trial")
        }
    }

    /// Returns an answer to a check: yes, no, or none in time.
    mutating func answer(at wall: Instant) -> Conditions.Reading<Bool> {
        Conditions.Reading(one(of: [true, true, false, nil]), source: "trial", at: wall)
    }

    /// An end of an attempt. Every kind of end can be drawn.
    var end: AttemptEnd {
        mutating get {
            let faults: [AttemptFault] = [
                .notStarted("no such file"), .exitedWithoutReport(status: 1), .killedBySignal(9),
                .killedBySignal(11), .malformedReport("line 1"),
                .memoryLimitExceeded(limitBytes: 1, measuredBytes: 2), .leftProcessesBehind,
            ]
            var end: AttemptEnd =
                switch number(0...9) {
                case 0...2: .success([("things_done", number(0...9))])
                case 3...4: .retry(after: isOne(in: 2) ? nil : .seconds(number(0...100_000)))
                case 5: .failure
                case 8: .awaits(one(of: NeededCondition.allCases))
                case 6...7: .killed()
                default: AttemptEnd(.broke(one(of: faults)))
                }
            if isOne(in: 3) { end.checkpoint = "half" }
            if isOne(in: 3) { end.notes = ["a note"] }
            if isOne(in: 3) { end.events = [one(of: TrialDraw.told)] }
            return end
        }
    }
}
