import JSON

/// A decoder for Base64 (RFC 4648).
enum Base64 {
    /// The characters of both alphabets.
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_".utf8)

    /// Decodes `text` in either alphabet; `nil` if it is not Base64.
    static func decode(_ text: String) -> [UInt8]? {
        var bits: UInt32 = 0
        var count = 0
        var bytes: [UInt8] = []
        for byte in text.utf8.reversed().drop(while: { $0 == UInt8(ascii: "=") }).reversed() {
            guard let index = alphabet.firstIndex(of: byte) else { return nil }
            // The last two characters are the other alphabet's names for the two before them.
            let value = index < 64 ? index : index - 2
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
            }
        }
        return count == 6 ? nil : bytes
    }

    /// Decodes and parses `text`; `nil` if it does not contain JSON.
    static func jsonText(_ text: String) -> JSON? {
        guard let bytes = decode(text) else { return nil }
        do {
            return try JSONParser.parse(bytes)
        } catch {
            return nil
        }
    }
}
