extension Timestamp {
    /// The instant as `2026-11-20T15:01:45.487000+00:00`; without microseconds if they are zero.
    var offsetText: String { microsecondText + "+00:00" }

    /// The instant as `2026-11-20T15:01:45.487000Z`; without microseconds if they are zero.
    var zuluText: String { microsecondText + "Z" }

    private var microsecondText: String {
        let text = description.dropLast()
        return text.contains(".") ? text + "000" : String(text)
    }

    /// Parses a date as the deployed backend does; `nil` for anything else.
    ///
    /// Accepted is ISO 8601 with a space for the `T`, and without seconds, a fraction or a zone
    /// (then UTC); a date alone; and seconds since 1970 as text, or milliseconds above 2e10.
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
        // `+0100` means `+01:00`.
        if zone.utf8.count == 5, zone != "Z" { zone = "\(zone.prefix(3)):\(zone.suffix(2))" }
        let day = String(decoding: bytes[..<11], as: UTF8.self)
        self.init(iso8601: day + clock + zone)
    }

    /// Creates the instant so many seconds after 1970, or milliseconds if the magnitude of the
    /// number is above 2e10.
    ///
    /// The result is `nil` outside the years 1 to 9999.
    init?(unix number: Double) {
        let milliseconds = abs(number) > 2e10 ? number : number * 1000
        guard milliseconds.isFinite,
            (-62_135_596_800_000...253_402_300_799_999).contains(milliseconds)
        else { return nil }
        self.init(milliseconds: Int64(milliseconds))
    }
}

extension UUIDText {
    /// Returns the UUID in lower case with hyphens, or `nil` if `text` is not a UUID.
    ///
    /// In `text`, the hyphens may be missing, and there may be braces and `urn:uuid:`.
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
