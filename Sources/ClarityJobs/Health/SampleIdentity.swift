import ClarityScheduler

extension Sample {
    /// The bytes by which the same sample is recognised in another export.
    ///
    /// They are the kind's raw value in UTF-8, a zero byte, the start and the end as big-endian
    /// 64-bit seconds since 1970-01-01T00:00:00Z, and `canonicalValue` in UTF-8. The layout never
    /// changes: ids on the server were made from it. The source is left out, since a renamed phone
    /// rewrites it, as are the device and the dates' text, which differ in every export; an export
    /// has whole seconds, so a fraction of a second does not count either.
    ///
    /// They contain the value: health data, and not to be logged.
    public var identity: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(64)
        bytes.append(contentsOf: kind.rawValue.utf8)
        bytes.append(0)
        for seconds in [start.secondsSince1970, end.secondsSince1970] {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: seconds >> Int64(shift)))
            }
        }
        appendCanonicalValue(to: &bytes)
        return bytes
    }
}
