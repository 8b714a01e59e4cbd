public import ClarityContract

/// The public keys that a server may have, by their digests.
///
/// There are at least two. A server whose only pinned key is lost can no longer be reached, so one
/// pin is of a backup key that is kept elsewhere.
public struct PublicKeyPins: Hashable, Sendable {
    /// In libcurl's form, `sha256//...;sha256//...`.
    let text: String

    /// Checks pins of the form `sha256//` and the base64 of the SHA-256 of a key's
    /// SubjectPublicKeyInfo (RFC 7469, section 2.4; the form of `curl --pinnedpubkey`).
    ///
    /// - Throws: `TransportError.refused` for fewer than two different pins, and for text of
    ///   another form. The message is the same for both and holds no text of a pin.
    public init(_ pins: [String]) throws(TransportError) {
        guard Set(pins).count >= 2, pins.allSatisfy(PublicKeyPins.isPin) else {
            throw .refused(
                "`backend.pins` wants at least two different pins, one of them of a backup key, "
                    + "each `sha256//` and the 44 characters of a digest in base64")
        }
        text = pins.joined(separator: ";")
    }

    /// Whether `text` has the form of a pin. In base64, 32 bytes are 42 characters of 6 bits, one
    /// for the last 4 bits, and `=`.
    private static func isPin(_ text: String) -> Bool {
        let prefix = "sha256//"
        let digest = text.utf8.dropFirst(prefix.utf8.count)
        guard text.hasPrefix(prefix), digest.count == 44, digest.last == UInt8(ascii: "=") else {
            return false
        }
        let letters = digest.dropLast()
        return letters.allSatisfy { alphabet.contains($0) }
            && letters.last.flatMap { alphabet.firstIndex(of: $0) }?.isMultiple(of: 4) == true
    }

    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
}
