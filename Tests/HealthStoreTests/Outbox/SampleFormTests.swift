import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

@Suite struct SampleFormTests {
    private static var day: ActivityDay {
        var day = ActivityDay()
        day.steps = 8012
        day.distance = 5.125
        day.restingHeartRate = 0
        return day
    }

    private static let night = SleepNight(
        totalMinutes: 431, efficiency: 0.9142, wakeCount: 3, awakeMinutes: 22, lightMinutes: 260,
        deepMinutes: 71, remMinutes: 100)

    private static let samples: [Sample] = [
        (SampleKind.heartRate, Sample.Value.single(61.25)),
        (.bloodPressure, .pressure(systolic: 118, diastolic: 76)), (.sleep, .sleep(night)),
        (.activity, .activity(day)), (.activity, .activity(ActivityDay())),
        (.mood, .values(MeasuredValues([.mood: 4, .energy: 6.5], text: "calm"))),
        (.environmental, .values(MeasuredValues([.bodyTemperature: 30.5]))),
    ].flatMap { kind, value in
        ["Watch", nil].map { source in
            Sample(
                kind: kind, start: Instant(secondsSince1970: 1), end: Instant(secondsSince1970: 2),
                value: value, source: source)
        }
    }

    @Test func `what is encrypted is the sample again`() {
        for sample in SampleFormTests.samples {
            let again = Sample(
                kind: sample.kind, start: sample.start, end: sample.end,
                encryptedForm: sample.encryptedForm)

            #expect(again == sample)
        }
    }

    @Test func `a night keeps its minutes to sleep`() {
        var night = SampleFormTests.night
        night.minutesToSleep = 0
        var sample = SampleFormTests.samples[4]
        sample.value = .sleep(night)

        let again = Sample(
            kind: .sleep, start: sample.start, end: sample.end, encryptedForm: sample.encryptedForm)

        #expect(again == sample)
    }

    @Test func `bytes that are cut or foreign are no sample`() {
        for sample in SampleFormTests.samples where sample.source == nil {
            let form = sample.encryptedForm
            for count in 0..<form.count {
                let cut = Sample(
                    kind: sample.kind, start: sample.start, end: sample.end,
                    encryptedForm: Array(form.prefix(count)))
                #expect(cut == nil)
            }
        }
        #expect(
            Sample(
                kind: .activity, start: Instant(secondsSince1970: 1),
                end: Instant(secondsSince1970: 2), encryptedForm: [4, 7]) == nil)
        #expect(
            Sample(
                kind: .activity, start: Instant(secondsSince1970: 1),
                end: Instant(secondsSince1970: 2), encryptedForm: [9]) == nil)
    }
}
