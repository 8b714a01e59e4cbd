import ClarityScheduler

extension Conditions.Reading {
    /// Creates an unknown answer whose changes nothing announces.
    static func sampledUnknown(_ reason: String) -> Conditions.Reading<Value> {
        Conditions.Reading(nil, source: reason, isSampled: true)
    }
}
