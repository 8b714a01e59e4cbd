extension Timestamp {
    /// `2026-11-20T15:01:45.487000+00:00`: microseconds, none when they are zero.
    var offsetText: String { microsecondText + "+00:00" }

    /// `2026-11-20T15:01:45.487000Z`: microseconds, none when they are zero.
    var zuluText: String { microsecondText + "Z" }

    private var microsecondText: String {
        let text = description.dropLast()
        return text.contains(".") ? text + "000" : String(text)
    }

    /// Reads what the deployed backend takes for a date: ISO 8601 with a space for the `T`, with
    /// or without seconds, fraction and zone (UTC then), a date alone, and seconds since 1970 as
    /// text, or milliseconds from 20 thousand million on; `nil` for anything else.
    init?(lax text: String) {
        if let number = Double(text) {
            self.init(unix: number)
            return
        }
        var text = text
        if text.utf8.count == 10 { text += "T00:00" }
        guard text.utf8.count >= 16, text.allSatisfy(\.isASCII) else { return nil }
        var bytes = Array(text.utf8)
        if [UInt8(ascii: " "), UInt8(ascii: "t"), UInt8(ascii: "_")].contains(bytes[10]) {
            bytes[10] = UInt8(ascii: "T")
        }
        let isClock: (UInt8) -> Bool = {
            (0x30...0x39).contains($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
        }
        let end = bytes[11...].firstIndex { !isClock($0) } ?? bytes.count
        var clock = String(decoding: bytes[11..<end], as: UTF8.self)
        if clock.utf8.count == 5 { clock += ":00" }
        var zone = String(decoding: bytes[end...], as: UTF8.self)
        if zone.isEmpty || zone == "z" { zone = "Z" }
        // `+0100` is `+01:00`.
        if zone.utf8.count == 5, zone != "Z" { zone = "\(zone.prefix(3)):\(zone.suffix(2))" }
        let day = String(decoding: bytes[..<11], as: UTF8.self)
        self.init(iso8601: day + clock + zone)
    }

    /// The instant so many seconds after 1970, or milliseconds from 20 thousand million on;
    /// `nil` beyond the year 9999.
    init?(unix number: Double) {
        let milliseconds = abs(number) > 2e10 ? number : number * 1000
        guard milliseconds.isFinite,
            (-62_135_596_800_000...253_402_300_799_999).contains(milliseconds)
        else { return nil }
        self.init(milliseconds: Int64(milliseconds))
    }
}

extension UUIDText {
    /// The UUID in lower case with its hyphens, which may be missing in `text`, as may braces and
    /// `urn:uuid:` be there; `nil` when `text` is none.
    static func lax(_ text: String) -> String? {
        var digits = text.lowercased()
        if digits.hasPrefix("urn:uuid:") { digits.removeFirst(9) }
        if digits.hasPrefix("{"), digits.hasSuffix("}") {
            digits.removeFirst()
            digits.removeLast()
        }
        if let uuid = canonical(digits) { return uuid }
        guard digits.utf8.count == 32, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            return nil
        }
        let characters = Array(digits)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(characters[$0]) }
            .joined(separator: "-")
    }
}
