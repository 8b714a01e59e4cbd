import Testing

@testable import HealthStore
@testable import HealthModel
@testable import ClarityScheduler

@Suite struct MetricNumbersTests {
    private let json = Array(#"{"id":"m"}"#.utf8)

    private func numbers() -> MetricNumbers {
        var numbers = MetricNumbers()
        numbers[.heartRate] = 61.5
        numbers[.oxygenSaturation] = 96
        numbers.setSpan(from: noon, to: noon + .seconds(30))
        return numbers
    }

    private func read(_ form: [UInt8]) -> MetricNumbers? {
        form.withUnsafeBytes { MetricNumbers(form: $0) }
    }

    @Test func `numbers and their time come back from in front of the JSON`() {
        let form = numbers().form(before: json)

        #expect(read(form) == numbers())
        #expect(MetricNumbers.json(of: form) == json)
        // The mark, the length, the count, 9 bytes for each number, and two instants.
        #expect(form.count == 3 + 1 + 2 * 9 + 16 + json.count)
    }

    @Test func `numbers of nothing are numbers, and JSON alone is none`() {
        let form = MetricNumbers().form(before: json)

        #expect(read(form) == MetricNumbers())
        #expect(MetricNumbers.json(of: form) == json)
        #expect(read(json) == nil)
        #expect(MetricNumbers.json(of: json) == json)
        #expect(read([]) == nil)
    }

    @Test func `a form that is cut at any byte is none or as much as there is`() {
        let form = numbers().form(before: [])

        for count in form.indices {
            #expect(read(Array(form[..<count])) == nil, "\(count)")
        }
    }

    @Test func `a measure of a later version is passed over`() {
        var form = numbers().form(before: json)
        form[4] = 254

        let read = read(form)

        #expect(read?[.heartRate] == nil)
        #expect(read?[.oxygenSaturation] == 96)
        #expect(read?.span == numbers().span)
    }

    @Test func `a number that is not finite and a time that stands still are none`() {
        var numbers = MetricNumbers()
        numbers[.steps] = .infinity
        numbers[.distance] = .nan
        numbers.setSpan(from: noon, to: noon)

        #expect(numbers == MetricNumbers())
    }

    @Test func `a sample gives the numbers of its kind`() {
        let night = SleepNight(
            totalMinutes: 431, efficiency: 0.9, wakeCount: 2, awakeMinutes: 20, lightMinutes: 250,
            deepMinutes: 80, remMinutes: 101)
        var day = ActivityDay()
        day.steps = 8000
        day.restingHeartRate = 58
        func numbers(_ kind: SampleKind, _ value: Sample.Value) -> MetricNumbers {
            MetricNumbers(
                Sample(kind: kind, start: noon, end: noon + .seconds(60), value: value))
        }

        #expect(numbers(.heartRate, .single(61))[.heartRate] == 61)
        #expect(numbers(.meditationMinutes, .single(5))[.meditationMinutes] == 5)
        let pressure = numbers(.bloodPressure, .pressure(systolic: 120, diastolic: 80))
        #expect(pressure[.systolic] == 120 && pressure[.diastolic] == 80)
        let sleep = numbers(.sleep, .sleep(night))
        #expect(sleep[.totalSleep] == 431 && sleep[.deepSleep] == 80 && sleep[.timeToSleep] == nil)
        let activity = numbers(.activity, .activity(day))
        #expect(activity[.steps] == 8000 && activity[.restingHeartRate] == 58)
        #expect(activity.entries.count == 2)
        #expect(activity.span == noon..<noon + .seconds(60))
    }
}
