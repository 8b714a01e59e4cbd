import HealthModel
import HealthStore
import Testing

@testable import Reports

@Suite struct MonthNumbersTests {
    @Test(arguments: [
        (62.449, "count/min", 1, "62.4 /min"), (12_345_678, "count", 0, "12,345,678"),
        (-1234.5, "degC", 1, "-1,234.5 °C"), (999, "Cal", 0, "999 kcal"),
        (0.934, "share", 0, "93 %"),
        (3.4, "1..5", 1, "3.4 of 5"),
        (59.4, "min", 0, "59 min"), (59.6, "min", 0, "1 h 0 min"), (1439.6, "min", 0, "24 h 0 min"),
        (60_060, "min", 0, "1,001 h 0 min"), (1e300, "min", 0, "1e+300 min"),
    ])
    func `a number is written as people write it`(
        value: Double, unit: String, decimals: Int, text: String
    ) {
        #expect(MonthNumbers.text(value, unit: unit, decimals: decimals) == text)
    }

    @Test func `the exact number is beside the rounded one`() {
        let html = MonthNumbers.html(7654.3219, unit: "m", decimals: 0)

        #expect(html.markup == #"<data value="7654.322">7,654<span class="unit"> m</span></data>"#)
    }

    @Test(
        arguments: [
            (100, 104.04, "+4.0 %"), (100, 50, "\u{2212}50 %"), (100, 100.01, "the same"),
            (0, 5, nil), (-2, 5, nil), (1e-9, 5, nil), (1, .infinity, nil),
        ] as [(Double, Double, String?)])
    func `a change is a share of a number above zero`(before: Double, now: Double, text: String?) {
        #expect(MonthNumbers.change(from: before, to: now) == text)
    }

    @Test(arguments: [
        ("resting_heart_rate", "Resting heart rate"),
        ("HKWorkoutActivityTypeTableTennis", "Table tennis"), ("Yoga", "Yoga"), ("", ""),
    ])
    func `names become words`(name: String, words: String) {
        #expect(wordsOfName(name) == words)
    }

    @Test func `measures have names without their units`() {
        #expect(Measure.totalSleep.title == "Sleep")
        #expect(Measure.restingHeartRate.title == "Resting heart rate")
        #expect(MonthNumbers.withinSentence(Measure.remSleep.title) == "REM sleep")
        #expect(MonthNumbers.withinSentence("Deep sleep") == "deep sleep")
    }
}
