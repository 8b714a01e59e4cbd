import HealthModel
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
        (.vo2Max, "mL/kg·min", 44.5, 44.5),
        (.vo2Max, "mL/kg*min", 44.5, 44.5),
        (.vo2Max, "mL/min*kg", 44.5, 44.5),
        (.bloodPressure, "Pa", 16_000, 120.009850),
        (.bloodPressure, "hPa", 160, 120.009850),
        (.heartRate, "count/hr", 3660, 61),
        (.distance, "in", 100_000, 2.54),
        (.exerciseMinutes, "d", 0.5, 720),
        (.bodyTemperature, "degC", 36.6, 36.6),
        (.bodyTemperature, "degF", 98.6, 37),
        (.bodyTemperature, "degF", 100.4, 38),
        (.bodyTemperature, "K", 310.15, 37),
        (.bloodGlucose, "mg/dL", 92, 92),
        (.bloodGlucose, "mmol<180.1558800000541>/L", 5.5, 99.085734),
        (.bloodGlucose, "mmol<180.1558800000541>/L", 1, 18.015588),
        (.bloodGlucose, "mmol<200>/L", 5.5, 110),
        (.bloodGlucose, "mol<180>/L", 0.005, 90),
        (.bloodGlucose, "mmol<180>/dL", 0.5, 90),
        (.bloodGlucose, "mcmol<180>/L", 5000, 90),
        (.bloodGlucose, "g/L", 0.92, 92),
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
        (.steps, "count/min"), (.bloodGlucose, "mmol/L"), (.bloodGlucose, "mmol<>/L"),
        (.bloodGlucose, "mmol<x>/L"), (.bloodGlucose, "mmol<-180>/L"),
        (.bloodGlucose, "mmol<1e9>/L"), (.bloodGlucose, "mmol<180>"), (.bloodGlucose, ">mmol<"),
        (.bodyTemperature, "C"), (.bodyTemperature, "degc"), (.sleep, "min"), (.activity, "count"),
    ])
    func `a unit that does not measure the kind has no conversion`(kind: SampleKind, unit: String) {
        #expect(UnitConversion(from: unit, to: kind) == nil)
    }
}
