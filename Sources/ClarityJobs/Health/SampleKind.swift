/// What was measured: one case for each field that CLARITY has.
///
/// The raw value is the name in the store and in counts; it never changes.
public enum SampleKind: String, CaseIterable, Hashable, Sendable {
    /// Beats per minute.
    case heartRate = "heart_rate"
    /// SDNN in milliseconds.
    case heartRateVariability = "heart_rate_variability"
    /// Systolic and diastolic in whole mmHg, always together.
    case bloodPressure = "blood_pressure"
    /// Percent, 0 to 100.
    case oxygenSaturation = "oxygen_saturation"
    /// Breaths per minute.
    case respiratoryRate = "respiratory_rate"
    /// A count.
    case steps
    /// Kilometres.
    case distance
    /// Kilocalories.
    case activeEnergy = "active_energy"
    /// Minutes.
    case exerciseMinutes = "exercise_minutes"
    /// A count.
    case flightsClimbed = "flights_climbed"
    /// mL/(kg min).
    case vo2Max = "vo2_max"
    /// Beats per minute.
    case restingHeartRate = "resting_heart_rate"
    /// Minutes.
    case meditationMinutes = "meditation_minutes"
    /// Degrees Celsius.
    case bodyTemperature = "body_temperature"
    /// Milligrams per decilitre.
    case bloodGlucose = "blood_glucose"
    /// One night, or one nap, as a `SleepNight`.
    case sleep
    /// One local day, as an `ActivityDay`.
    case activity
}
