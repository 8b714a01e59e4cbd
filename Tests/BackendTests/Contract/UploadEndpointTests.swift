import HealthModel
import ClarityScheduler
import Testing

@testable import Backend
@testable import BackendContract

struct UploadEndpointTests {
    private func rules(_ dialect: Dialect, _ route: UploadRoute?) throws -> UploadEndpoint {
        try dialect.endpoint(route)
    }

    @Test func `each route of each dialect has its limits`() throws {
        let all = try [
            rules(.blueprint, nil), rules(.blueprint, .samples), rules(.loop, .metrics),
            rules(.loop, nil),
        ]

        #expect(all.map(\.route) == [.metrics, .samples, .metrics, .samples])
        #expect(all.map(\.samplesPerRequest) == [100, 1000, 1000, 1000])
        #expect(all.map(\.perType) == [nil, nil, 1, nil])
        #expect(all.map(\.requestBytes) == [1 << 20, 1 << 20, 5 << 20, 5 << 20])
        #expect(all.map(\.requestsPerHour) == [nil, nil, 100, nil])
        #expect(all.map(\.isIdempotent) == [true, false, false, false])
        #expect(all.map(\.takesFuture) == [false, false, true, true])
    }

    @Test func `metrics are packed by the backend's types`() throws {
        let blueprint = try rules(.blueprint, .metrics)
        let loop = try rules(.loop, .metrics)
        let samples = try rules(.loop, .samples)

        #expect(
            SampleKind.allCases.filter { blueprint.metricType(of: $0) == nil } == [
                .bodyTemperature, .bloodGlucose, .workout,
            ])
        #expect(SampleKind.allCases.allSatisfy { samples.metricType(of: $0) != nil })
        #expect(
            SampleKind.allCases.filter { loop.metricType(of: $0) == nil } == [
                .heartRateVariability, .oxygenSaturation, .respiratoryRate, .bodyTemperature,
                .bloodGlucose, .sleep, .stress, .cognitive, .environmental, .workout,
            ])
        #expect(loop.metricType(of: .mood) == "mood_assessment")
        #expect(blueprint.metricType(of: .environmental) == "environmental")
        #expect(samples.metricType(of: .cognitive) == "cognitive_metrics")
        #expect(loop.metricType(of: .activity) == "activity_level")
        #expect(blueprint.metricType(of: .sleep) == "sleep_analysis")
        #expect(samples.metricType(of: .sleep) == "HKCategoryTypeIdentifierSleepAnalysis")
        #expect(samples.metricType(of: .activity) == "HKActivitySummaryTypeIdentifier")
        #expect(loop.metricType(of: .steps) == "activity_level")
        #expect(loop.metricType(of: .vo2Max) == "activity_level")
        #expect(samples.metricType(of: .steps) == "HKQuantityTypeIdentifierStepCount")
    }

    static let ranges: [(SampleKind, ClosedRange<Double>)] = [
        (.heartRate, 30...300), (.steps, 0...100_000), (.distance, 0...100),
        (.activeEnergy, 0...5000), (.exerciseMinutes, 0...1440), (.flightsClimbed, 0...500),
        (.vo2Max, 10...80), (.restingHeartRate, 30...120), (.meditationMinutes, 0...480),
    ]

    @Test(arguments: ranges)
    func `a number beyond the range is not sent`(
        kind: SampleKind, range: ClosedRange<Double>
    ) throws {
        let rules = try rules(.loop, .metrics)
        func refusal(_ value: Double) -> UploadRefusal? {
            rules.refusal(of: testSample(kind, .single(value)), at: morning)
        }

        #expect(refusal(range.lowerBound) == nil)
        #expect(refusal(range.upperBound) == nil)
        #expect(refusal(range.lowerBound - 0.1) == .outOfRange)
        #expect(refusal(range.upperBound + 0.1) == .outOfRange)
    }

    @Test(arguments: [
        (70, 40, true), (250, 150, true), (69, 80, false), (251, 80, false), (120, 39, false),
        (120, 151, false),
    ])
    func `both halves of a blood pressure have a range`(
        systolic: Int, diastolic: Int, isTaken: Bool
    ) throws {
        let sample = testSample(
            .bloodPressure, .pressure(systolic: systolic, diastolic: diastolic))

        let refusal = try rules(.loop, .metrics).refusal(of: sample, at: morning)

        #expect(refusal == (isTaken ? nil : .outOfRange))
    }

    @Test func `each value of a day has the range of its own kind`() throws {
        let loop = try rules(.loop, .metrics)
        let blueprint = try rules(.blueprint, .metrics)
        func refusal(_ rules: UploadEndpoint, _ kind: SampleKind, _ value: Double) -> UploadRefusal?
        {
            var day = ActivityDay()
            day[kind] = value
            return rules.refusal(of: testSample(.activity, .activity(day)), at: morning)
        }
        for (kind, range) in UploadEndpointTests.ranges where ActivityDay.kinds.contains(kind) {
            #expect(refusal(loop, kind, range.lowerBound) == nil)
            #expect(refusal(loop, kind, range.upperBound) == nil)
            #expect(refusal(loop, kind, range.upperBound + 0.1) == .outOfRange)
            #expect(
                refusal(blueprint, kind, range.upperBound + 0.1) == .inFuture,
                "the founding contract has no ranges")
            #expect(refusal(loop, kind, .nan) == .notANumber)
        }
    }

    @Test func `an odd value of a day does not keep the others from being sent`() throws {
        let loop = try rules(.loop, .metrics)
        for (kind, range) in UploadEndpointTests.ranges where ActivityDay.kinds.contains(kind) {
            var day = testDay
            day[kind] = range.upperBound + 0.1

            #expect(loop.refusal(of: testSample(.activity, .activity(day)), at: morning) == nil)
        }
    }

    @Test(arguments: [
        (0, UploadRefusal?.some(.outOfRange)), (1, nil), (1440, nil), (1441, .outOfRange),
    ])
    func `a night without sleep is not sent as a metric`(minutes: Int, refusal: UploadRefusal?)
        throws
    {
        var night = testNight
        night.totalMinutes = minutes
        let sample = testSample(.sleep, .sleep(night))

        #expect(
            try rules(.blueprint, .metrics).refusal(of: sample, at: morning + .seconds(60))
                == refusal)
        #expect(try rules(.loop, .samples).refusal(of: sample, at: morning) == nil)
        #expect(try rules(.loop, .metrics).refusal(of: sample, at: morning) == .kindNotAccepted)
    }

    @Test func `what is no number and what is not accepted have words of their own`() throws {
        let loop = try rules(.loop, .metrics)
        let samples = try rules(.loop, .samples)

        #expect(loop.refusal(of: testSample(.oxygenSaturation), at: morning) == .kindNotAccepted)
        #expect(samples.refusal(of: testSample(.oxygenSaturation), at: morning) == nil)
        for value in [Double.nan, .infinity] {
            #expect(
                samples.refusal(of: testSample(.steps, .single(value)), at: morning) == .notANumber)
        }
        #expect(
            samples.refusal(of: testSample(.bloodPressure), at: morning) == .notANumber)
        var night = testNight
        night.efficiency = .nan
        for sample in [
            testSample(.sleep), testSample(.activity), testSample(.sleep, .sleep(night)),
            testSample(.activity, .activity(ActivityDay())),
            testSample(.activity, .sleep(testNight)), testSample(.steps, .activity(testDay)),
        ] {
            #expect(samples.refusal(of: sample, at: morning) == .notANumber)
        }
        #expect(
            samples.refusal(
                of: testSample(.steps, .pressure(systolic: 120, diastolic: 80)), at: morning)
                == .notANumber)
    }

    @Test func `the future is refused where the backend refuses it, and only for now`() throws {
        let sample = testSample(.heartRate, .single(72))

        #expect(
            try rules(.blueprint, .metrics).refusal(of: sample, at: morning + .seconds(59))
                == .inFuture)
        #expect(
            try rules(.blueprint, .metrics).refusal(of: sample, at: morning + .seconds(60)) == nil)
        #expect(try rules(.loop, .metrics).refusal(of: sample, at: morning) == nil)
    }

    @Test func `a refusal says nothing of the value`() {
        #expect(
            UploadRefusal.allCases.map(\.description) == [
                "the backend does not accept this kind",
                "its value is outside the range that the backend accepts",
                "its value is no number that can be sent", "it is dated in the future",
                "it may have arrived, and sending it again could double it",
                "it may have arrived, and a later value has followed it",
            ])
    }
}
