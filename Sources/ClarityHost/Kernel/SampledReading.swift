import ClarityScheduler

extension Conditions.Reading {
    /// The answer "unknown" of something that nothing announces a change of.
    static func sampledUnknown(_ reason: String) -> Conditions.Reading<Value> {
        Conditions.Reading(nil, source: reason, isSampled: true)
    }
}
