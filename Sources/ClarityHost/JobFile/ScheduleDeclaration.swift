import ClarityScheduler
import Platform

/// `schedule:` as written in the file.
struct ScheduleDeclaration: Sendable {
    var every: Field<Duration>?
    var cron: Field<CronRule>?
    var calendar: Field<CalendarExpression>?
    var at: Field<Instant>?
    var phase: Field<Duration>?
    var flex: Field<Duration>?
    var timeZone: Field<Zone>?
    var notBefore: Field<Instant>?
    var notAfter: Field<Instant>?
    var randomizedDelay: Field<Duration>?
    var earliestBegin: Field<Duration>?

    static let schema = MappingSchema(
        ScheduleDeclaration(),
        [
            Key(
                "every", { swap(&$0.every, &$1) }, .duration(spans),
                "time between two occurrences"),
            Key(
                "cron", { swap(&$0.cron, &$1) }, .cron,
                "minute, hour, day, month and weekday as in crontab(5), or `@reboot`"),
            Key(
                "calendar", { swap(&$0.calendar, &$1) }, .calendar,
                "weekdays, date and time as in systemd.time(7)"),
            Key(
                "at", { swap(&$0.at, &$1) }, .instant,
                "the one time at which the job runs"),
            Key(
                "phase", { swap(&$0.phase, &$1) }, .duration(.zero...year),
                "offset of `every` from whole periods, counted in UTC; without it from when the "
                    + "job was first seen"),
            Key(
                "flex", { swap(&$0.flex, &$1) }, .duration(.zero...year), default: "0s",
                "how early before `every` a run may start"),
            Key(
                "time_zone", { swap(&$0.timeZone, &$1) }, .timeZone,
                "time zone of `cron`, `calendar` and `window`; without it that of `defaults`"),
            Key(
                "not_before", { swap(&$0.notBefore, &$1) }, .instant,
                "first time of the schedule"),
            Key(
                "not_after", { swap(&$0.notAfter, &$1) }, .instant,
                "last time of the schedule"),
            Key(
                "randomized_delay", { swap(&$0.randomizedDelay, &$1) },
                .duration(.zero ... .seconds(86_400)), default: "0s",
                "delays every occurrence by a fixed part of this, different for each machine "
                    + "and job"),
            Key(
                "earliest_begin", { swap(&$0.earliestBegin, &$1) }, .duration(.zero...year),
                default: "0s", "least time between the end of a run and the start of the next"),
        ])

    /// Whether the job runs after the machine has started, and at no time that is known in advance.
    var startsAtBoot: Bool { if case .reboot = cron?.value { true } else { false } }

    private static let year: Duration = .seconds(366 * 86_400)
    /// What `every` may be.
    static let spans = .seconds(1)...year

    /// The keys that name occurrences, exactly one of which is required, and those of them that are
    /// given.
    static let rules = ["every", "cron", "calendar", "at"]
    var givenRules: [String] {
        let given = [every != nil, cron != nil, calendar != nil, at != nil]
        return zip(Self.rules, given).filter(\.1).map(\.0)
    }
}

extension ValueSchema where Value == ScheduleDeclaration {
    /// Reads a mapping, or the text of one of its rules: `15 2 * * *` and `@daily` as `cron`, `2h` as
    /// `every`, anything else as `calendar`.
    static var schedule: ValueSchema {
        let words = ValueSchema.scalar(.either(.cron, .calendar)) { text, node, path, decoding in
            var declaration = ScheduleDeclaration()
            let position = node.position
            let isSpan =
                text.first?.isNumber == true && text.allSatisfy { $0.isNumber || $0.isLetter }
                || spanInWords(text) != nil
            if text.hasPrefix("@") || text.split(separator: " ").count > 4 {
                let rule = ValueSchema<CronRule>.cron.decode(node, path, &decoding)
                declaration.cron = Field(position: position, value: rule)
            } else if isSpan {
                let span = ValueSchema<Duration>.duration(ScheduleDeclaration.spans)
                    .decode(node, path, &decoding)
                declaration.every = Field(position: position, value: span)
            } else {
                let rule = ValueSchema<CalendarExpression>.calendar.decode(node, path, &decoding)
                declaration.calendar = Field(position: position, value: rule)
            }
            return declaration
        }
        return .either(words, or: .mapping(ScheduleDeclaration.schema))
    }
}

/// The value of `cron:`.
enum CronRule: Sendable {
    case times(CronExpression)
    /// At the first start of a scheduler after the machine has started.
    case reboot
}

extension ValueSchema where Value == CronRule {
    /// Reads a cron expression that fires at least once, or `@reboot`.
    static var cron: ValueSchema {
        .text(.cron) { text throws(TextFault) in
            let words = text.split { $0 == " " || $0 == "\t" }
            if words == ["@reboot"] { return .reboot }
            let expression: CronExpression
            do throws(ExpressionError) {
                expression = try CronExpression(text)
            } catch {
                let isName = words.count == 1 && words[0].hasPrefix("@")
                throw TextFault(
                    in: error.field?.rawValue, got: error.got,
                    wanted: (isName ? "`@reboot`, " : "") + error.wanted)
            }
            guard !expression.neverFires else {
                throw TextFault(
                    "never fires", help: "no month that it names has a day that it names")
            }
            return .times(expression)
        }
    }
}

extension ValueSchema where Value == CalendarExpression {
    /// Reads a calendar expression that fires at least once.
    static var calendar: ValueSchema {
        .text(.calendar) { text throws(TextFault) in
            let expression: CalendarExpression
            do throws(ExpressionError) {
                expression = try CalendarExpression(text)
            } catch {
                throw TextFault(
                    in: error.field?.rawValue, got: error.got, wanted: error.wanted,
                    help: calendarInWords(text).map { "write it as `\($0)`" })
            }
            guard !expression.neverFires else {
                throw TextFault(
                    "never fires",
                    help: "no date has the year, month, day and weekday that it names")
            }
            return expression
        }
    }
}

extension TextFault {
    /// Creates the fault of an expression; `field` is `nil` if the text as a whole is invalid.
    fileprivate init(in field: String?, got: String, wanted: String, help: String? = nil) {
        let fault = field.map { "has \(shown(got)) for the \($0)" } ?? "is no schedule"
        self.init(
            help == nil || field == nil ? "\(fault), wanted \(wanted)" : "is no schedule",
            help: help)
    }
}

/// Returns how the file writes a time that a person put in words, such as `02:15` for `daily at
/// 2:15` and `Mon 08:00` for `every Monday at 8:00`; `nil` if the words are others.
private func calendarInWords(_ text: String) -> String? {
    let words = text.lowercased().split(separator: " ").filter {
        !["at", "on", "every", "each", "day", "daily", "weekly"].contains($0)
    }
    let parts = words.map { word in
        let time = word.split(separator: ":")
        let isTime = time.count == 2 && time.allSatisfy { Int($0) != nil }
        guard !isTime else { return (time[0].count == 1 ? "0" : "") + word }
        return word.hasSuffix("days") ? String(word.dropLast()) : String(word)
    }
    let written = parts.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined(separator: " ")
    do {
        return try written == text || CalendarExpression(written).neverFires ? nil : written
    } catch {
        return nil
    }
}

extension ValueSchema where Value == Zone {
    /// Reads the name of a time zone that the machine knows.
    static var timeZone: ValueSchema {
        .scalar(.timeZone) { text, node, _, decoding in
            decoding.zone(text, at: node.position)
        }
    }
}

extension Decoding {
    /// Returns the zone with a name that `position` contains or implies; reports an unknown one.
    mutating func zone(
        _ identifier: String, at position: YAMLNode.Position, help: String? = nil
    ) -> Zone? {
        let zones = context.zones
        guard let bytes = zones.tzif(for: identifier) else {
            guard identifier != "UTC" else { return .utc }
            let absence = zones.absence(of: shown(identifier))
            guard zones.hasZones else { return fault(position, absence, help: zones.remedy) }
            let near = otherSpellings(of: identifier).first { zones.tzif(for: $0) != nil }
            let question = near.map { "; did you mean \(shown($0))?" } ?? ""
            let example = near == nil ? zones.remedy : nil
            return fault(
                position, "\(absence)\(question)", help: help ?? example)
        }
        do throws(ZoneError) {
            return try Zone(identifier: identifier, tzif: bytes)
        } catch {
            return fault(position, "\(error)", help: help ?? "the machine's tzdata is at fault")
        }
    }
}

extension Decoding {
    /// Warns if nobody knows the machine's own zone. Where a job depends on it, that is a fault.
    mutating func warnOfLocalZone(at position: YAMLNode.Position) {
        let (name, zones) = (context.localZone, context.zones)
        guard name != "UTC", zones.tzif(for: name) == nil else { return }
        warn(
            position,
            "\(zones.absence(of: shown(name))), so that times of this machine are shown in UTC",
            help: zones.hasZones
                ? "give the name of its time zone in the variable `TZ`" : zones.remedy)
    }
}

/// The first parts of the names of zones that begin with a region.
private let regions = [
    "Europe", "America", "Asia", "Africa", "Australia", "Pacific", "Atlantic", "Indian",
]

/// Letters that the tz database writes without their accents.
private let accents: [Character: Character] = [
    "ä": "a", "ö": "o", "ü": "u", "é": "e", "è": "e", "ã": "a", "í": "i", "ó": "o", "ç": "c",
]

/// Returns how the tz database may spell a name that was typed with other capitals, with spaces or
/// accents, or without its region.
///
/// A zone source looks up one name at a time, so similar names are guessed and not searched for.
private func otherSpellings(of identifier: String) -> [String] {
    guard identifier.utf8.count <= 100 else { return [] }
    let smallWords: Set<String> = ["of", "es", "au"]
    var spelling = ""
    var word = ""
    for character in identifier + "/" {
        if character.isLetter {
            word.append(character)
            continue
        }
        let lowered = word.lowercased()
        spelling += smallWords.contains(lowered) ? lowered : lowered.capitalizedFirst
        word = ""
        spelling.append(character == " " ? "_" : character)
    }
    spelling.removeLast()
    let plain = String(spelling.map { accents[$0] ?? $0 })
    // A city alone, as people say it.
    let places = plain.contains("/") ? [] : regions.map { "\($0)/\(plain)" }
    return ([spelling, plain, identifier.uppercased()] + places).filter { $0 != identifier }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
