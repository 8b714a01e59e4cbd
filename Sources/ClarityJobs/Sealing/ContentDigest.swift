import CSodium

/// BLAKE2b-256 of bytes, as 64 lower-case hex digits: says whether two contents are the same.
public func contentDigest(_ bytes: [UInt8]) -> String { hexEncoded(blake2b(bytes)) }

/// BLAKE2b-256 of bytes.
func blake2b(_ bytes: [UInt8]) -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: 32)
    crypto_generichash(&hash, hash.count, bytes, UInt64(bytes.count), nil, 0)
    return hash
}
