import CSodium

/// Returns the BLAKE2b-256 hash of the bytes as 64 lower-case hex digits, to compare two contents.
public func contentDigest(_ bytes: [UInt8]) -> String { hexEncoded(blake2b(bytes)) }

/// Returns the BLAKE2b-256 hash of the bytes.
func blake2b(_ bytes: [UInt8]) -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: 32)
    crypto_generichash(&hash, hash.count, bytes, UInt64(bytes.count), nil, 0)
    return hash
}
