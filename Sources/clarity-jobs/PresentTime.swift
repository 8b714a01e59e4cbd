import ClarityHost
import Reports
import ClarityScheduler
import Platform

/// A time that the user gave in place of the present.
struct PresentTime {
    /// The value of the option.
    let text: String
    /// The name of the option.
    var option = "--now"

    /// Parses the value: RFC 3339, or a date and time without an offset in the local zone.
    ///
    /// - Throws: `CommandFailure` (usage) for anything else, and for a time that the zone's clocks
    ///   skip or show twice.
    func instant(localZone: () throws(CommandFailure) -> Zone) throws(CommandFailure) -> Instant {
        if let instant = Instant(rfc3339: text) { return instant }
        // Parses the local time as if it were UTC; a date alone means midnight.
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
    /// Returns the time that an option names; `nil` if the option is not given.
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

    /// Returns this machine's local time zone.
    ///
    /// - Throws: `CommandFailure` (configuration) if the machine does not know the zone.
    static func localZone(
        _ environment: [String: String]
    ) throws(CommandFailure) -> Zone {
        let name = LocalZone.identifier(environment: environment)
        guard name != "UTC" else { return .utc }
        let zones = SystemZones(environment: environment)
        guard let bytes = zones.tzif(for: name) else {
            throw CommandFailure(
                .configuration,
                "\(zones.absence(of: "`\(name)`")) of this machine"
                    + (zones.hasZones ? "" : "; \(zones.remedy)"))
        }
        do throws(ZoneError) {
            return try Zone(identifier: name, tzif: bytes)
        } catch {
            throw CommandFailure(.configuration, error.description)
        }
    }
}
