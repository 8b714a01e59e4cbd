public import ClarityScheduler

/// Refuses samples that no backend may ever get, whatever its dialect. No other code refuses a
/// sample before it is queued.
///
/// A sample that is merely unusual is queued; its endpoint (`UploadEndpoint`) decides about it.
public enum IntakeCheck {
    /// The reason for a refusal; the raw value names it in counts.
    public enum Refusal: String, CaseIterable, Error, Hashable, Sendable {
        case endBeforeStart = "end before start"
        /// It begins more than `skew` from now. It may be accepted once that time has come.
        case inFuture = "in the future"
        case notFinite = "not a finite number"
        case impossible = "outside what is physically possible"
        case tooLong = "longer than 366 days"
    }

    /// How far a device's clock may be ahead of this machine's.
    public static let skew = Duration.seconds(24 * 3600)
    /// The longest time that a sample may cover.
    public static let longest = Duration.seconds(366 * 86_400)

    /// Returns the values that are possible at all for a measure in `MeasuredValues`.
    public static func range(of measure: Measure) -> ClosedRange<Double> {
        switch measure {
        case .systolic, .diastolic: SampleKind.bloodPressure.facts.possible
        case .mood: 1...5
        case .stress, .anxiety, .energy, .focus: 1...10
        case .socialMinutes: 0...1440
        case .meditationMinutes: 0...480
        case .activeMinutes: SampleKind.exerciseMinutes.facts.possible
        default: SampleKind(rawValue: measure.rawValue)?.facts.possible ?? 0...1_000_000
        }
    }

    /// Returns the sample as it may be queued. Impossible values of a day are left out, so that
    /// they do not cost the day its other values.
    public static func accepted(_ sample: Sample, at now: Instant) throws(Refusal) -> Sample {
        guard sample.start <= sample.end else { throw .endBeforeStart }
        guard sample.start <= now + skew else { throw .inFuture }
        guard sample.end - sample.start <= longest else { throw .tooLong }
        switch sample.value {
        case .single(let number): try check(number, sample.kind)
        case .pressure(let systolic, let diastolic):
            try check(Double(systolic), sample.kind)
            try check(Double(diastolic), sample.kind)
        case .sleep(let night):
            guard night.efficiency.isFinite else { throw .notFinite }
            guard (0...1).contains(night.efficiency) else { throw .impossible }
            try check(Double(night.totalMinutes), sample.kind)
        case .values(let values):
            for (measure, number) in values.numbers { try check(number, range(of: measure)) }
        case .activity(let day):
            var sample = sample
            sample.value = .activity(try accepted(day))
            return sample
        }
        return sample
    }

    private static func accepted(_ day: ActivityDay) throws(Refusal) -> ActivityDay {
        var accepted = day
        var first: Refusal?
        for kind in ActivityDay.kinds {
            guard let number = day[kind] else { continue }
            do throws(Refusal) {
                try check(number, kind)
            } catch {
                accepted[kind] = nil
                first = first ?? error
            }
        }
        if accepted.isEmpty, let first { throw first }
        return accepted
    }

    private static func check(_ number: Double, _ kind: SampleKind) throws(Refusal) {
        try check(number, kind.facts.possible)
    }

    private static func check(
        _ number: Double, _ range: ClosedRange<Double>
    ) throws(Refusal) {
        guard number.isFinite else { throw .notFinite }
        guard range.contains(number) else { throw .impossible }
    }
}
