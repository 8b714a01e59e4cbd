import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

/// Tests which aggregates are values of the same day or night, and which value is newer.
@Suite(.onBothEngines) struct OutboxAggregateTimesTests {
    private let folder = StateFolder()

    private func steps(_ value: Double, source: String? = nil) -> Sample {
        var sample = sample(.steps, 1, value)
        sample.source = source
        return sample
    }

    /// Makes an invented night between two times, in hours after a midnight.
    private func night(_ from: Double, _ to: Double, minutes: Int = 400) -> Sample {
        Sample(
            kind: .sleep, start: hour(from), end: hour(to),
            value: .sleep(SleepNight(totalMinutes: minutes, efficiency: 0.9)))
    }

    private func day(from: Double, _ steps: Double) -> Sample {
        var day = ActivityDay()
        day.steps = steps
        return Sample(
            kind: .activity, start: hour(from), end: hour(from + 24), value: .activity(day))
    }

    private func hour(_ hours: Double) -> Instant {
        Instant(secondsSince1970: 1_699_920_000 + Int64(hours * 3600))
    }

    @discardableResult
    private func put(
        _ samples: Sample..., in store: HealthStore, asOf hours: Double = 0
    ) throws -> EnqueueCounts {
        try store.outbox.enqueue(aggregates: samples, asOf: noon + .seconds(Int64(hours * 3600)))
    }

    private func waiting(in store: HealthStore) throws -> [Sample] {
        try store.outbox.nextBatch(limit: 99, at: noon)?.samples ?? []
    }

    /// Tests whether the second activity is the day of another time zone than the first. A row has
    /// the hours between which each lies.
    @Test(arguments: [
        (0.0, 24.0, 0.0, 24.0, false), (0, 24, -1, 23, true), (0, 24, 12, 36, true),
        // Only one of the two zones changes its clocks.
        (0, 24, 0, 23, true), (0, 23, 0, 24, true),
        // The day so far, and a longer part of it.
        (0, 12, 0, 24, false), (0, 23.1, 0, 24, false),
    ])
    func `a whole day with other bounds belongs to another time zone`(
        start: Double, end: Double, otherStart: Double, otherEnd: Double, isShifted: Bool
    ) {
        func seconds(_ hours: Double) -> Int64 { hour(hours).secondsSince1970 }
        let time = AggregateTime(kind: .activity, start: seconds(start), end: seconds(end))

        #expect(
            time.isShifted(start: seconds(otherStart), end: seconds(otherEnd)) == isShifted)
        #expect(time.matches(start: seconds(otherStart), end: seconds(otherEnd)))
    }

    // MARK: Measurements

    @Test func `an aggregate replaces no measurement of the same time`() throws {
        let store = try folder.open()
        _ = try store.outbox.enqueue([steps(50), steps(60)])

        let counts = try put(steps(60), steps(100), in: store)

        #expect(counts.metricsQueued == 1 && counts.metricsKnown == 1)
        #expect(try put(steps(70), in: store).replaced == 1)
        #expect(Set(try waiting(in: store)) == [steps(50), steps(60), steps(70)])
    }

    // MARK: As of when

    @Test func `an older export does not take the place of a newer one's value`() throws {
        let store = try folder.open()
        try put(steps(200), in: store, asOf: 2)

        #expect(try put(steps(100), in: store, asOf: 1).metricsKnown == 1)
        #expect(try waiting(in: store) == [steps(200)])
        #expect(try put(steps(100), in: store, asOf: 1).metricsKnown == 1)
        #expect(try put(steps(300), in: store, asOf: 3).corrected == 1)
    }

    @Test func `a value that is seen again is true as of the later time`() throws {
        let store = try folder.open()
        try put(steps(200), in: store, asOf: 1)
        #expect(try put(steps(200), in: store, asOf: 3).metricsKnown == 1)
        #expect(try put(steps(200), in: store, asOf: 2).metricsKnown == 1)

        #expect(try put(steps(100), in: store, asOf: 2.5).metricsKnown == 1)

        #expect(try waiting(in: store) == [steps(200)])
    }

    // MARK: Sources

    @Test func `an aggregate does not replace one of another source`() throws {
        let store = try folder.open()
        try put(steps(100, source: "Phone"), steps(90), in: store)

        #expect(try put(steps(200, source: "Watch"), in: store).metricsQueued == 1)
        #expect(try put(steps(110, source: "Phone"), in: store, asOf: 1).replaced == 1)
        #expect(try put(steps(95), in: store, asOf: 1).replaced == 1)

        #expect(
            Set(try waiting(in: store))
                == [steps(110, source: "Phone"), steps(95), steps(200, source: "Watch")])
    }

    @Test func `a night of another source takes the place of the former one`() throws {
        let store = try folder.open()
        var former = night(-1, 7)
        former.source = "Phone"
        var later = night(-1, 7, minutes: 420)
        later.source = "Watch"
        try put(former, in: store)

        #expect(try put(later, in: store).replaced == 1)
        #expect(try waiting(in: store) == [later])
    }

    // MARK: Bounds

    @Test func `a night whose bounds a late record moved takes the place of the former`() throws {
        let store = try folder.open()
        try put(night(-1, 5), in: store)

        let counts = try put(night(-1.5, 7, minutes: 450), in: store, asOf: 1)

        #expect(counts.replaced == 1)
        #expect(try store.outbox.states() == [.queued: 1])
        #expect(try waiting(in: store) == [night(-1.5, 7, minutes: 450)])
        #expect(try put(night(-1.5, 7.5, minutes: 470), in: store, asOf: 2).corrected == 1)
        #expect(try put(night(-1, 5), in: store).metricsKnown == 1)
    }

    @Test func `a night that joins two takes the place of both`() throws {
        let store = try folder.open()
        try put(night(-2, 1, minutes: 170), night(3, 7, minutes: 230), in: store)

        #expect(try put(night(-2, 7), in: store, asOf: 1).replaced == 1)

        #expect(try waiting(in: store) == [night(-2, 7)])
    }

    @Test func `a nap and the next night are nights of their own`() throws {
        let store = try folder.open()
        try put(night(-1, 7), in: store)

        let counts = try put(
            night(14, 15, minutes: 55), night(6.5, 8, minutes: 80), night(23, 31), in: store,
            asOf: 1)

        #expect(counts.metricsQueued == 3)
        #expect(try store.outbox.states() == [.queued: 4])
    }

    @Test func `a night that is known again is what is left of a changed one`() throws {
        let store = try folder.open()
        try put(night(-1, 5), in: store)
        _ = try store.outbox.settle(
            try #require(try store.outbox.nextBatch(limit: 9, at: noon)), processingID: nil,
            at: noon)
        try put(night(-1, 6), in: store, asOf: 1)

        #expect(try put(night(-1, 5), in: store, asOf: 2).replaced == 1)

        #expect(try store.outbox.states() == [.unconfirmed: 1])
    }

    @Test func `a day that another zone moved takes the place of the former`() throws {
        let store = try folder.open()
        try put(day(from: 0, 100), day(from: 24, 200), in: store)

        let counts = try put(day(from: 6, 110), day(from: 30, 210), in: store, asOf: 1)

        #expect(counts.replaced == 2)
        #expect(try waiting(in: store) == [day(from: 6, 110), day(from: 30, 210)])
    }

    @Test(
        arguments: [
            (SampleKind.sleep, 0, 8, 0, 8, true), (.sleep, 0, 8, 4, 12, false),
            (.sleep, 0, 8, 3, 11, true), (.sleep, 0, 8, 8, 16, false), (.sleep, 0, 8, 2, 3, true),
            (.sleep, 0, 0, 0, 0, true), (.sleep, 0, 8, 4, 4, false),
            (.sleep, 49, 60, 0, 60, false), (.activity, 0, 24, 11, 35, true),
            (.activity, 0, 24, 12, 36, true), (.steps, 0, 24, 1, 24, false),
            (.steps, 0, 24, 0, 24, true), (.sleep, 0, 1 << 40, 50, 60, false),
        ] as [(SampleKind, Int64, Int64, Int64, Int64, Bool)])
    func `two nights or days match if their times overlap enough`(
        kind: SampleKind, start: Int64, end: Int64, otherStart: Int64, otherEnd: Int64, same: Bool
    ) {
        let time = AggregateTime(kind: kind, start: start * 3600, end: end * 3600)

        #expect(time.matches(start: otherStart * 3600, end: otherEnd * 3600) == same)
        #expect(time.starts.contains(otherStart * 3600) || !same)
    }
}
