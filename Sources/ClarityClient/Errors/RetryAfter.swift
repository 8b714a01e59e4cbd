import ClarityScheduler

/// Parses the `Retry-After` field of RFC 9110, section 10.2.3: seconds, or a date.
enum RetryAfter {
    /// Returns the wait that `field` asks for if it is between 1 s and 1 h, else `nil`.
    ///
    /// Some servers send 0 while their limit lasts for minutes, or dates of a clock that is wrong.
    /// Such values are ignored in favour of the caller's own schedule.
    static func believable(_ field: String?, now: Instant) -> Duration? {
        guard let field, let wait = wait(field, now: now),
            (.seconds(1) ... .seconds(3600)).contains(wait)
        else { return nil }
        return wait
    }

    private static func wait(_ field: String, now: Instant) -> Duration? {
        if !field.isEmpty, field.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return Int32(field).map { .seconds($0) }
        }
        return date(field).map { $0 - now }
    }

    /// Parses `Sat, 21 Nov 2026 06:00:00 GMT`, the only form that servers may still send.
    private static func date(_ field: String) -> Instant? {
        let words = field.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", words[0].hasSuffix(","), let day = Int(words[1]),
            let month = months.firstIndex(of: words[2]), let year = Int(words[3])
        else { return nil }
        let clock = words[4].split(separator: ":").map { Int($0) }
        guard clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2]
        else { return nil }
        let time = CivilTime(
            year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second)
        guard time.isValid, (1970...9999).contains(year) else { return nil }
        return Instant(millisecondsSince1970: time.millisecondsSince1970)
    }

    private static var months: [Substring] {
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    }
}
