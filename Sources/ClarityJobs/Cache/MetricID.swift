import CSodium

/// The id under which the backend knows a sample: a UUID that depends on the user and on the
/// sample's identity alone.
///
/// The same sample has the same id from next week's export, after a reinstallation and on another
/// machine, so that the backend recognises a repeated upload.
public struct MetricID: Hashable, Sendable, CustomStringConvertible {
    private let bytes: [UInt8]

    /// Derives the id: BLAKE2b-128 over user and identity, in the layout of RFC 9562, version 8.
    ///
    /// - Parameter userID: in either case; ids are compared as lower case.
    public init(userID: String, sample: Sample) {
        var content: [UInt8] = []
        content.append(field: "clarity-jobs metric 1")
        content.append(field: userID.lowercased())
        content += sample.identity
        var hash = [UInt8](repeating: 0, count: 16)
        crypto_generichash(&hash, hash.count, content, UInt64(content.count), nil, 0)
        hash[6] = hash[6] & 0x0F | 0x80
        hash[8] = hash[8] & 0x3F | 0x80
        bytes = hash
    }

    /// The UUID in lower case with its four hyphens.
    public var description: String {
        [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { hexEncoded(bytes[$0]) }
            .joined(separator: "-")
    }
}
