import HealthModel
import JSON

/// Reads the user's id from an access token, for a backend that returns it nowhere else.
///
/// The id is the `sub` of a JSON Web Token (RFC 7519). Its signature is not checked: the token came
/// from the backend itself over a trusted connection, and the id decides where rows are kept on
/// this machine, not what anybody may do at the backend.
enum TokenSubject {
    /// The longest token that is read: 16 KiB.
    static let longestToken = 16 * 1024
    /// The longest id that is accepted, in bytes.
    static let longestID = 256

    /// Returns the id; `nil` for a token of another form, which is not an error.
    static func read(_ token: Secret) -> String? {
        let text = token.reveal().utf8
        guard text.count <= longestToken else { return nil }
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = base64URLDecoded(parts[1]) else { return nil }
        do throws(JSONPart.Fault) {
            let subject = try JSONPart(of: bytes).member("sub").text()
            return isUsable(subject) ? subject : nil
        } catch {
            // A token without JSON names nobody.
            return nil
        }
    }

    /// Whether `id` can be a user's id: 1 to 256 visible ASCII characters.
    static func isUsable(_ id: String) -> Bool {
        (1...longestID).contains(id.utf8.count) && id.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Decodes unpadded base64url (RFC 4648, section 5; RFC 7515); `nil` for anything else.
    static func base64URLDecoded(_ digits: some Collection<UInt8>) -> [UInt8]? {
        guard digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        var buffer: UInt32 = 0
        var bits = 0
        for digit in digits {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = digit - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = digit - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0") + 52
            case UInt8(ascii: "-"): value = 62
            case UInt8(ascii: "_"): value = 63
            default: return nil
            }
            buffer = buffer << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
            }
        }
        return bytes
    }
}
