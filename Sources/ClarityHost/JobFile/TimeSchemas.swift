import ClarityScheduler
import ClaritySystem

extension ValueSchema where Value == CronRule {
    /// Reads a cron expression that fires at least once, or `@reboot`.
    static var cron: ValueSchema {
        .scalar(.cron) { text, node, place, decoding in
            let words = text.split { $0 == " " || $0 == "\t" }
            if words == ["@reboot"] { return .reboot }
            let expression: CronExpression
            do throws(ExpressionError) {
                expression = try CronExpression(text)
            } catch {
                let isName = words.count == 1 && words[0].hasPrefix("@")
                decoding.reportExpression(
                    text, node, place, field: error.field?.rawValue, got: error.got,
                    wanted: (isName ? "`@reboot`, " : "") + error.wanted)
                return nil
            }
            guard !expression.neverFires else {
                decoding.report(
                    node.position, "\(place.key) \(shown(text)) never fires",
                    help: "no month that it names has a day that it names")
                return nil
            }
            return .times(expression)
        }
    }
}

extension ValueSchema where Value == CalendarExpression {
    /// Reads a calendar expression that fires at least once.
    static var calendar: ValueSchema {
        .scalar(.calendar) { text, node, place, decoding in
            let expression: CalendarExpression
            do throws(ExpressionError) {
                expression = try CalendarExpression(text)
            } catch {
                decoding.reportExpression(
                    text, node, place, field: error.field?.rawValue, got: error.got,
                    wanted: error.wanted)
                return nil
            }
            guard !expression.neverFires else {
                decoding.report(
                    node.position, "\(place.key) \(shown(text)) never fires",
                    help: "no date has the year, month, day and weekday that it names")
                return nil
            }
            return expression
        }
    }
}

extension Decoding {
    /// Records that a text is not a valid expression; `field` is `nil` if the text as a whole is
    /// invalid.
    fileprivate mutating func reportExpression(
        _ text: String, _ node: YAMLNode, _ place: CodingPath, field: String?, got: String,
        wanted: String
    ) {
        let fault = field.map { "has \(shown(got)) for the \($0)" } ?? "is no schedule"
        report(node.position, "\(place.key) \(shown(text)) \(fault), wanted \(wanted)")
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
            let near = otherSpellings(of: identifier).first { zones.tzif(for: $0) != nil }
            let question = near.map { "; did you mean \(shown($0))?" } ?? ""
            let standard = near == nil ? "write it as `Europe/London` or `UTC`" : nil
            report(
                position, "unknown time zone \(shown(identifier))\(question)",
                help: help ?? standard)
            return nil
        }
        do throws(ZoneError) {
            return try Zone(identifier: identifier, tzif: bytes)
        } catch {
            report(position, "\(error)", help: help ?? "the machine's tzdata is at fault")
            return nil
        }
    }
}

/// Returns how the tz database may spell a name that was typed with other capitals or with spaces.
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
    return [spelling, identifier.uppercased()].filter { $0 != identifier }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
