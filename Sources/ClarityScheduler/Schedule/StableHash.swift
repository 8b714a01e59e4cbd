/// A hash that is the same on every machine, in every process and in every version.
///
/// It is 64-bit FNV-1a with the finalizer of MurmurHash3, so that similar texts get very different
/// values. It is not cryptographic: it hides nothing, and does not resist chosen texts.
public struct StableHash: Sendable {
    private var state: UInt64 = 0xCBF2_9CE4_8422_2325

    /// Creates the hash of an empty input.
    public init() {}

    /// Adds a text; adding `ab` and `c` differs from adding `a` and `bc`.
    public mutating func combine(_ text: String) {
        for byte in text.utf8 { add(byte) }
        // 0xFF never occurs in UTF-8, so it separates the texts.
        add(0xFF)
    }

    /// Adds bytes.
    public mutating func combine(_ bytes: [UInt8]) {
        for byte in bytes { add(byte) }
    }

    /// The hash of everything added so far.
    public var value: UInt64 {
        var value = state
        value = (value ^ value >> 33) &* 0xFF51_AFD7_ED55_8CCD
        value = (value ^ value >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return value ^ value >> 33
    }

    private mutating func add(_ byte: UInt8) {
        state = (state ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }
}

/// Returns the fixed delay of a job's occurrences on a host, which keeps many hosts with the same
/// job file from starting at once: whole milliseconds, from 0 to below `span`.
///
/// The same host and job always have the same delay, whatever the process and its uptime. If it
/// were drawn anew at each start, an occurrence would move whenever the machine starts, and a
/// machine that starts often could put it off for ever. `span` is zero or more.
public func stableDelay(within span: Duration, host: String, job: JobID) -> Duration {
    precondition(span >= .zero, "a delay is within a span of zero or more, got \(span)")
    var hash = StableHash()
    hash.combine(host)
    hash.combine(job.rawValue)
    let (high, _) = hash.value.multipliedFullWidth(by: UInt64(span.milliseconds))
    return .milliseconds(Int64(high))
}
