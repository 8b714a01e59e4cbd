import ClarityHost
import ClarityScheduler
import ClaritySystem

/// The time that a person wrote to stand in for the present.
struct PresentTime {
    /// What the option holds.
    let text: String
    /// The option that stands for the time.
    var option = "--now"

    /// The instant: RFC 3339, or without offset a date and time on the clock of a zone.
    ///
    /// - Throws: `CommandFailure` (usage) for anything else, and for a time that the zone's clocks
    ///   skip or show twice.
    func instant(localZone: () throws(CommandFailure) -> Zone) throws(CommandFailure) -> Instant {
        if let instant = Instant(rfc3339: text) { return instant }
        // As if the clock were in UTC; a date alone is its midnight.
        let readings = ["Z", ":00Z", "T00:00:00Z"]
        guard let reading = readings.lazy.compactMap({ Instant(rfc3339: text + $0) }).first else {
            throw CommandFailure(
                .usage,
                "\(option) is a time such as `2026-11-20T06:00:00Z` or `2026-11-20 06:00`, "
                    + "got `\(text)`")
        }
        let zone = try localZone()
        switch zone.resolve(CivilTime(reading.millisecondsSince1970)) {
        case .once(let instant): return instant
        case .twice(let earlier, let later):
            throw CommandFailure(
                .usage, "\(option) `\(text)` comes twice in \(zone.identifier)",
                "help: write `\(zone.text(earlier))` or `\(zone.text(later))`")
        case .skipped(let until):
            throw CommandFailure(
                .usage, "\(option) `\(text)` never comes in \(zone.identifier)",
                "help: its clocks are put forward to `\(zone.text(until))`")
        }
    }
}

extension Composition {
    /// The time that an option names; `nil` where it is not given.
    ///
    /// - Throws: as `PresentTime.instant`.
    func time(_ option: String) throws(CommandFailure) -> Instant? {
        guard let text = arguments[option] else { return nil }
        let environment = environment
        return try PresentTime(text: text, option: "--\(option)").instant {
            () throws(CommandFailure) in
            try Composition.localZone(environment)
        }
    }

    /// The zone that this machine's clock on the wall follows.
    ///
    /// - Throws: `CommandFailure` (configuration) when it is not known here.
    static func localZone(
        _ environment: [String: String]
    ) throws(CommandFailure) -> Zone {
        let name = LocalZone.identifier(environment: environment)
        guard name != "UTC" else { return .utc }
        guard let bytes = SystemZones(environment: environment).tzif(for: name) else {
            throw CommandFailure(.configuration, "unknown time zone `\(name)` of this machine")
        }
        do throws(ZoneError) {
            return try Zone(identifier: name, tzif: bytes)
        } catch {
            throw CommandFailure(.configuration, error.description)
        }
    }
}
