import HealthModel
import ClarityScheduler
import Testing

@Suite struct CanonicalValueTests {
    @Test(arguments: [
        (SampleKind.heartRate, 61.0, "61.0"),
        (.heartRate, 101.433, "101.4"),
        (.restingHeartRate, 52, "52.0"),
        (.respiratoryRate, 15.5, "15.5"),
        (.oxygenSaturation, 96, "96.0"),
        (.exerciseMinutes, 1, "1.0"),
        (.heartRateVariability, 47.3286, "47.33"),
        (.activeEnergy, 0.086, "0.09"),
        (.vo2Max, 43.25, "43.25"),
        (.meditationMinutes, 10.5, "10.50"),
        (.distance, 1.609344, "1.609"),
        (.distance, 0.0004, "0.000"),
        (.bodyTemperature, 36.63, "36.6"),
        (.bloodGlucose, 92.4, "92"),
        (.steps, 412, "412"),
        (.flightsClimbed, 3, "3"),
        (.steps, 0, "0"),
        (.steps, -12, "-12"),
        (.steps, -0.0, "0"),
        (.steps, 1e300, "1e+300"),
        (.steps, .infinity, "inf"),
    ])
    func `a value has the decimals of its kind`(kind: SampleKind, value: Double, text: String) {
        let sample = Sample(
            kind: kind, start: Instant(secondsSince1970: 0), end: Instant(secondsSince1970: 0),
            value: .single(value))

        #expect(sample.canonicalValue == text)
    }

    @Test func `a blood pressure is both its numbers`() {
        let sample = Sample(
            kind: .bloodPressure, start: Instant(secondsSince1970: 0),
            end: Instant(secondsSince1970: 0), value: .pressure(systolic: 118, diastolic: 76))

        #expect(sample.canonicalValue == "118/76")
    }

    @Test func `a night is all its numbers`() {
        let night = SleepNight(
            totalMinutes: 431, efficiency: 0.9142, wakeCount: 3, awakeMinutes: 22,
            lightMinutes: 260, deepMinutes: 71, remMinutes: 100, minutesToSleep: 9)

        #expect(text(.sleep(night)) == "431/0.914/3/22/260/71/100/9")
        #expect(
            text(.sleep(SleepNight(totalMinutes: 60, efficiency: 1))) == "60/1.000/0/0/0/0/0/-")
    }

    @Test func `a day is what is known of it`() {
        var day = ActivityDay()
        #expect(text(.activity(day)) == "-/-/-/-/-/-/-")
        day.steps = 8012
        day.distance = 5.12345
        day.activeEnergy = 310.3
        day.exerciseMinutes = 30
        day.flightsClimbed = 7
        day.restingHeartRate = 58

        #expect(text(.activity(day)) == "8012/5.12/310/30/7/-/58.0")
    }

    @Test func `a temperature of a thermometer is the same in both scales`() throws {
        let fromFahrenheit = try #require(UnitConversion(from: "degF", to: .bodyTemperature))

        // Every tenth of a degree on either scale, in the other unit rounded to six digits.
        let different =
            (940...1080).filter { tenths in
                let celsius = fromFahrenheit(Double(tenths) / 10)
                return text(.bodyTemperature, rounded(celsius, digits: 6))
                    != text(.bodyTemperature, celsius)
            }
            + (340...420).filter { tenths in
                let celsius = Double(tenths) / 10
                let fahrenheit = rounded(celsius * 1.8 + 32, digits: 6)
                return text(.bodyTemperature, fromFahrenheit(fahrenheit))
                    != text(.bodyTemperature, celsius)
            }

        #expect(different == [])
    }

    @Test func `a glucose of a meter is the same in both units`() throws {
        let fromMoles = try #require(
            UnitConversion(from: "mmol<180.1558800000541>/L", to: .bloodGlucose))

        let different = (20...600).filter { milligrams in
            let moles = rounded(Double(milligrams) / 18.01558800000541, digits: 6)
            return text(.bloodGlucose, fromMoles(moles)) != "\(milligrams)"
        }

        #expect(different == [])
    }

    @Test func `a glucose of four decimals in moles is the same in six digits of milligrams`()
        throws
    {
        let fromMoles = try #require(
            UnitConversion(from: "mmol<180.1558800000541>/L", to: .bloodGlucose))

        let different = (30_000...200_000).count { tenThousandths in
            let milligrams = fromMoles(Double(tenThousandths) / 10_000)
            return text(.bloodGlucose, milligrams)
                != text(.bloodGlucose, rounded(milligrams, digits: 6))
        }

        #expect(different == 76, "of 170,001")
    }

    @Test func `every energy of three decimals is the same in kilojoules of six digits`() throws {
        let fromKilojoules = try #require(UnitConversion(from: "kJ", to: .activeEnergy))

        let different = (1...9999).filter { thousandths in
            let kilocalories = Double(thousandths) / 1000
            let kilojoules = rounded(kilocalories * 4.184, digits: 6)
            return text(.activeEnergy, kilocalories)
                != text(.activeEnergy, fromKilojoules(kilojoules))
        }

        #expect(different == [])
    }

    @Test func `a distance of six digits in miles is the same in kilometres but rarely`() throws {
        let fromMiles = try #require(UnitConversion(from: "mi", to: .distance))
        var generator = SeededGenerator(seed: 20_261_115)

        let different = (0..<20_000).count { _ in
            let kilometres = Double(generator.next() % 400_000_000) / 1e9
            let first = rounded(kilometres, digits: 6)
            let second = fromMiles(rounded(kilometres / 1.609344, digits: 6))
            return text(.distance, first) != text(.distance, second)
        }

        #expect(different <= 20, "seed 20261115")
    }

    private func text(_ value: Sample.Value) -> String {
        Sample(
            kind: .activity, start: Instant(secondsSince1970: 0),
            end: Instant(secondsSince1970: 0), value: value
        ).canonicalValue
    }

    private func text(_ kind: SampleKind, _ value: Double) -> String {
        Sample(
            kind: kind, start: Instant(secondsSince1970: 0), end: Instant(secondsSince1970: 0),
            value: .single(value)
        ).canonicalValue
    }

    /// Rounds a number to so many significant digits, as an export does.
    private func rounded(_ number: Double, digits: Int) -> Double {
        var scale = 1.0
        while number * scale < 1 { scale *= 10 }
        while number * scale >= 10 { scale /= 10 }
        for _ in 1..<digits { scale *= 10 }
        return (number * scale).rounded() / scale
    }
}
