import Platform
public import HealthModel
import CSodium

/// The id of a sample at the backend: a UUID that depends only on the user and on the sample's
/// identity.
///
/// The sample gets the same id from next week's export, after a reinstallation and on another
/// machine, so that the backend recognises a repeated upload.
public struct MetricID: Hashable, Sendable, CustomStringConvertible {
    private let bytes: [UInt8]

    /// Derives the id: BLAKE2b-128 over user and identity, in the layout of RFC 9562, version 8.
    ///
    /// - Parameter userID: in upper or lower case, which makes no difference.
    public init(userID: String, sample: Sample) {
        self.init(MetricIDs(userID: userID), sample)
    }

    fileprivate init(_ ids: MetricIDs, _ sample: Sample) {
        let content = ids.prefix + sample.identity
        var hash = [UInt8](repeating: 0, count: 16)
        crypto_generichash(&hash, hash.count, content, UInt64(content.count), nil, 0)
        hash[6] = hash[6] & 0x0F | 0x80
        hash[8] = hash[8] & 0x3F | 0x80
        bytes = hash
    }

    /// The UUID in lower case, with its four hyphens.
    public var description: String {
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for (index, byte) in bytes.enumerated() {
            if index == 4 || index == 6 || index == 8 || index == 10 {
                text.append(UInt8(ascii: "-"))
            }
            text.append(hexDigitsOf: byte)
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// The ids of one user's samples.
public struct MetricIDs: Sendable {
    fileprivate let prefix: [UInt8]

    /// - Parameter userID: in upper or lower case, which makes no difference.
    public init(userID: String) {
        var prefix: [UInt8] = []
        prefix.append(field: "clarity-jobs metric 1")
        prefix.append(field: userID.lowercased())
        self.prefix = prefix
    }

    /// Returns the id of a sample, as `MetricID` derives it.
    public func callAsFunction(_ sample: Sample) -> MetricID { MetricID(self, sample) }
}
