import ClarityHost
import ClarityScheduler
import ClarityTestSupport
import Testing

@Suite("A decision as text")
struct DecisionNotationTests {
    /// A failure names its seed; `arguments: [seed]` repeats it alone.
    @Test(arguments: UInt64(0)..<40)
    func `it is read back as it was`(seed: UInt64) throws {
        var draw = DecisionDraw(seed: seed)

        for _ in 0..<25 {
            let decision = draw.decision

            let read = try DecisionNotation.decision(
                inputs: DecisionNotation.inputs(of: decision),
                outcome: DecisionNotation.outcome(of: decision), at: decision.moment.wall,
                origin: decision.origin, touchedRuns: decision.touchedRuns)

            #expect(read == decision)
        }
    }

    @Test func `what is as it mostly is takes no room`() throws {
        var decision = DecisionDraw(seed: 1).empty
        let job = try #require(JobID("a"))
        decision.jobs = [job]
        decision.runs = [
            Run(
                id: RunID(1), job: job, kind: JobKind("work"), trigger: .schedule,
                scheduledFor: .noon, enqueuedAt: .noon)
        ]

        let text = String(decoding: DecisionNotation.inputs(of: decision), as: UTF8.self)

        #expect(
            text == #"{"e":0,"o":"me","s":1,"mp":4,"n":1,"j":{"a":null},"#
                + #""r":[{"i":1,"j":"a","k":"work","f":1795176000000,"q":1795176000000}]}"#)
    }

    @Test(arguments: [
        (#"{"e":0}"#, "`inputs.j` is missing"),
        (#"[]"#, "`inputs.j` is missing"),
        (#"{"e":0,"#, "`inputs` is `byte 7`, wanted JSON: a name should stand here"),
        (
            #"{"j":{"a":{"c":[1,2]}}}"#,
            "`inputs.j.a.c` is `[1,2]`, wanted an array of 5"
        ),
        (
            #"{"j":{},"f":{"x":{}}}"#, "`x` is `x`, wanted a run's number"
        ),
    ])
    func `what is no decision is refused with its place`(text: String, message: String) {
        let fault = #expect(throws: NotationFault.self) {
            try DecisionNotation.decision(
                inputs: Array(text.utf8), outcome: Array("[]".utf8), at: .noon, origin: "",
                touchedRuns: [])
        }

        #expect(fault?.description == message)
    }
}

/// Random decisions with something of everything.
struct DecisionDraw {
    private var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    /// A decision that saw nothing.
    var empty: Decision {
        Decision(
            moment: Moment(wall: .noon, elapsed: .zero), owner: "me", seed: 1,
            scope: .everything, origin: "", maxParallel: 4, isDraining: false, wasConnected: nil,
            attemptsElsewhere: 0, conditions: nil, events: [], jobs: [], records: [:], runs: [],
            waits: [:], inFlight: [:], requestedRuns: [], nextRun: RunID(1), outcome: [],
            touchedRuns: [])
    }

    var decision: Decision {
        mutating get {
            var decision = empty
            decision.moment = Moment(wall: instant, elapsed: span)
            decision.owner = text
            decision.seed = random.next()
            decision.scope = one(of: [.everything, .requested])
            decision.origin = text
            decision.maxParallel = number(1...64)
            decision.isDraining = flag
            decision.wasConnected = one(of: [true, false, nil])
            decision.attemptsElsewhere = number(0...3)
            decision.conditions = flag ? conditions : nil
            decision.events = (0..<number(0...4)).map { _ in event }
            decision.jobs = jobs
            for job in decision.jobs where flag { decision.records[job] = record }
            decision.runs = (0..<number(0...3)).map { _ in run }
            for _ in 0..<number(0...3) {
                decision.waits[runID] = (0..<number(0...2)).map { _ in deferral }
            }
            for _ in 0..<number(0...2) { decision.inFlight[runID] = attempt(decision.origin) }
            decision.requestedRuns = (0..<number(0...2)).map { _ in runID }
            decision.nextRun = runID
            decision.outcome = (0..<number(0...3)).map { _ in text }
            decision.touchedRuns = (0..<number(0...3)).map { _ in runID }
            return decision
        }
    }

    // MARK: Parts

    private mutating func number(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &random)
    }

    private mutating func one<Element>(of elements: [Element]) -> Element {
        elements[Int.random(in: elements.indices, using: &random)]
    }

    private var flag: Bool { mutating get { Bool.random(using: &random) } }

    private var text: String {
        mutating get {
            one(of: [
                "", "plain", "two\nlines\t\"quoted\" \\ backslash", "\u{85}\u{A0}é \u{1F600}",
                "\u{0}\u{1F}\u{7F}", "every 4h", "<html>",
            ])
        }
    }

    private var instant: Instant {
        mutating get {
            Instant(
                millisecondsSince1970: one(of: [
                    0, -1, 1_795_176_000_123, .max, .min,
                    Int64.random(in: .min ... .max, using: &random),
                ]))
        }
    }

    private var span: Duration {
        mutating get {
            one(of: [
                .zero, .milliseconds(number(-5...5)), .nanoseconds(123_456_789_012),
                Duration(secondsComponent: 5, attosecondsComponent: 1),
                Duration(secondsComponent: -5, attosecondsComponent: -7),
                Duration(secondsComponent: .max, attosecondsComponent: 0),
                Duration(
                    secondsComponent: 9_223_372_036, attosecondsComponent: 900_000_000_000_000_000),
            ])
        }
    }

    private var runID: RunID { mutating get { RunID(Int64(number(1...9_999))) } }

    private var job: JobID {
        mutating get { JobID(one(of: ["a", "com.clarity.refresh", "z_9"])) ?? unnamed }
    }

    private var unnamed: JobID { JobID("unnamed").unsafelyUnwrapped }

    private var jobs: [JobID] {
        mutating get { Array(Set((0..<number(0...3)).map { _ in job })).sorted() }
    }

    private var tally: Tally {
        mutating get {
            var tally = Tally()
            for name in ["samples_read", "odd \"name\"", "sent"] where flag {
                tally[name] = Int64(number(-1...900))
            }
            return tally
        }
    }

    private var failure: Failure {
        mutating get { Failure(one(of: Failure.Category.allCases), text) }
    }

    private var record: JobRecord {
        mutating get {
            JobRecord(
                clock: flag
                    ? JobClock(
                        anchor: instant, considered: instant, era: number(0...3), schedule: text,
                        scheduleSince: instant) : nil,
                lastFinished: flag ? instant : nil,
                pause: flag ? Pause(since: instant, until: flag ? instant : nil, reason: text) : nil
            )
        }
    }

    private var deferral: Deferral {
        mutating get {
            Deferral(
                one(of: WaitReason.allCases), subject: text, wanted: text, measured: text,
                source: text)
        }
    }

    /// An instant that RFC 3339 can write, as those of machines are.
    private var told: Instant {
        mutating get { Instant(millisecondsSince1970: Int64(number(0...4_000_000_000_000))) }
    }

    private var conditions: Conditions {
        mutating get {
            let answer: Bool? = one(of: [true, false, nil])
            return Conditions(
                connected: .init(answer, source: text, isSampled: flag),
                metered: .init(false, source: text, at: flag ? told : nil),
                battery: .init(flag ? .absent : .charge(percent: number(0...100)), source: text),
                storageFreeBytes: .init(flag ? nil : Int64(number(0...1 << 40)), source: text),
                pressurePercent: .init(flag ? nil : number(0...100), source: text),
                storage: flag ? ["/\(text)": .init(Int64(number(0...9)), source: text)] : [:],
                checks: flag ? [text: .init(answer, source: text, at: told)] : [:])
        }
    }

    private mutating func attempt(_ origin: String) -> AttemptRecord {
        AttemptRecord(
            job: job, origin: flag ? origin : text, number: number(1...9), startedAt: instant,
            isForced: flag, warnAt: span, killAt: span, progressAt: span,
            lostAt: flag ? span : nil, stop: one(of: StopReason.allCases + [nil]), isWarned: flag,
            isKilled: flag)
    }

    private var run: Run {
        mutating get {
            var run = Run(
                id: runID, job: job, kind: JobKind(text), trigger: one(of: Trigger.allCases),
                scheduledFor: instant, enqueuedAt: instant, isExpedited: flag, isForced: flag,
                causedBy: flag ? runID : nil)
            run.state = one(of: RunState.allCases)
            run.notBefore = flag ? instant : nil
            run.attempts = number(0...3)
            run.failures = number(0...3)
            run.interruptions = number(0...3)
            run.generation = Int64(number(0...3))
            run.lease =
                flag ? Lease(owner: text, standing: one(of: Lease.Standing.allCases)) : nil
            run.startedAt = flag ? instant : nil
            run.finishedAt = flag ? instant : nil
            run.checkpoint = flag ? text : nil
            run.failure = flag ? failure : nil
            run.needs = one(of: NeededCondition.allCases + [nil])
            run.stopReason = one(of: StopReason.allCases + [nil])
            run.stopRequest = one(of: StopReason.allCases + [nil])
            run.tally = tally
            run.notes = (0..<number(0...2)).map { _ in text }
            return run
        }
    }

    private var end: AttemptEnd {
        mutating get {
            let result: AttemptEnd.Result = one(of: [
                .reported(.success), .reported(.retry(after: flag ? span : nil, failure)),
                .reported(.snooze(after: span, failure)), .reported(.failure(failure)),
                .reported(.awaits(one(of: NeededCondition.allCases), failure)),
                .broke(.notStarted(text)),
                .broke(.exitedWithoutReport(status: Int32(number(-1...255)))),
                .broke(.killedBySignal(Int32(number(1...64)))), .broke(.malformedReport(text)),
                .broke(
                    .memoryLimitExceeded(
                        limitBytes: Int64(number(0...9)), measuredBytes: Int64(number(0...9)))),
                .broke(.leftProcessesBehind),
            ])
            return AttemptEnd(
                result, tally: tally, notes: flag ? [text] : [], checkpoint: flag ? text : nil,
                events: flag ? [EventName("half-done"), .sourceChanged] : [],
                peakMemoryBytes: Int64(number(0...1)))
        }
    }

    private var event: Planner.Event {
        mutating get {
            one(of: [
                .tick, .conditionsChanged, .requested(jobs, isForced: flag), .retry(runID, of: job),
                .cancel(runID), .pause(jobs, until: flag ? instant : nil, reason: text),
                .resume(jobs), .happened(one(of: EventName.ofTheEngine)),
                .progressed(runID, at: span), .finished(runID, end), .drain,
            ])
        }
    }
}
