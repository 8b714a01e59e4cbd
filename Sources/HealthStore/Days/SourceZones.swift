public import ClarityScheduler
package import Platform

/// The time zones that sources can name, and this machine's own.
public struct SourceZones: Sendable {
    package let zones: SystemZones
    /// The zone that days follow if nobody names one.
    package var local: String
    /// The zone that the days of the account follow, once it is settled.
    package var settled: String?

    /// Reads the zones as the environment (`TZ`, `TZDIR`) and the machine define them.
    public init(environment: [String: String]) {
        zones = SystemZones(environment: environment)
        local = LocalZone.identifier(environment: environment)
    }

    /// Returns the time zone that the days of an account follow: the settled one, else the one that
    /// the job file names, else the one that an earlier release stored, else this machine's.
    ///
    /// - Parameter named: the zone that the job file names.
    public func dayZone(
        of store: HealthStore, named: String?
    ) throws(HealthStoreError) -> Zone {
        let kept = try store.outbox.dayZone()
        let settled = kept?.isSettled == true ? kept?.name : nil
        return [settled, named, kept?.name, local].lazy.compactMap { $0 }
            .compactMap { zones.zone(named: $0) }.first ?? .utc
    }
}
