import ClarityJobs
import Testing

@Suite struct UnitConversionTests {
    @Test(arguments: [
        (SampleKind.heartRate, "count/min", 61.0, 61.0),
        (.heartRate, "count/s", 1.0, 60.0),
        (.restingHeartRate, "count/hr", 3000.0, 50.0),
        (.respiratoryRate, "count/min", 15.5, 15.5),
        (.heartRateVariability, "ms", 47.3286, 47.3286),
        (.heartRateVariability, "s", 0.0473286, 47.3286),
        (.bloodPressure, "mmHg", 118, 118),
        (.bloodPressure, "kPa", 16, 120.009850),
        (.bloodPressure, "cmAq", 160, 117.689462),
        (.bloodPressure, "inHg", 4, 101.6),
        (.oxygenSaturation, "%", 0.96, 96),
        (.oxygenSaturation, "%", 0.57, 57),
        (.oxygenSaturation, "%", 1, 100),
        (.oxygenSaturation, "%", 96, 96),
        (.steps, "count", 412, 412),
        (.flightsClimbed, "count", 3, 3),
        (.distance, "km", 1.25, 1.25),
        (.distance, "m", 1250, 1.25),
        (.distance, "cm", 125_000, 1.25),
        (.distance, "mi", 1, 1.609344),
        (.distance, "yd", 1000, 0.9144),
        (.distance, "ft", 1000, 0.3048),
        (.activeEnergy, "kcal", 42, 42),
        (.activeEnergy, "Cal", 42, 42),
        (.activeEnergy, "cal", 42, 0.042),
        (.activeEnergy, "kJ", 4.184, 1),
        (.activeEnergy, "J", 4184, 1),
        (.exerciseMinutes, "min", 1, 1),
        (.exerciseMinutes, "hr", 0.5, 30),
        (.exerciseMinutes, "s", 90, 1.5),
        (.meditationMinutes, "ms", 60_000, 1),
        (.vo2Max, "mL/min·kg", 43.25, 43.25),
        (.vo2Max, "ml/(kg*min)", 43.25, 43.25),
    ])
    func `a number becomes one in the unit of its kind`(
        kind: SampleKind, unit: String, number: Double, wanted: Double
    ) throws {
        let conversion = try #require(UnitConversion(from: unit, to: kind))

        #expect(abs(conversion(number) - wanted) < 1e-5, "got \(conversion(number))")
    }

    @Test(arguments: [
        (SampleKind.heartRate, "ms"), (.heartRate, ""), (.distance, "kcal"), (.distance, "KM"),
        (.oxygenSaturation, "count"), (.activeEnergy, "CAL"), (.bloodPressure, "mmol"),
        (.steps, "count/min"),
    ])
    func `a unit that does not measure the kind has no conversion`(kind: SampleKind, unit: String) {
        #expect(UnitConversion(from: unit, to: kind) == nil)
    }
}
