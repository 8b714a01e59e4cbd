import ClarityScheduler

extension Sample {
    /// The bytes that identify the same sample in another export.
    ///
    /// They are the kind's raw value in UTF-8, a zero byte, the start and the end as big-endian
    /// 64-bit seconds since 1970-01-01T00:00:00Z, and `canonicalValue` in UTF-8. The layout never
    /// changes, because ids on the server were derived from it. The source is left out, since a
    /// renamed phone rewrites it. So are the device and the text of the dates, which differ in
    /// every export. An export has whole seconds, so fractions of a second do not count either.
    ///
    /// The bytes contain the value: they are health data and must not be logged.
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
