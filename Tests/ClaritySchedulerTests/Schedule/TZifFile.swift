import ClarityScheduler
import Testing

/// A TZif file built for a test; it is valid unless a test sets a wrong part.
struct TZifFile: CustomTestStringConvertible {
    var version = UInt8(ascii: "2")
    var transitions: [(time: Int64, type: UInt8)] = []
    var offsets: [Int32] = [0]
    var footer = ""
    var narrowTimes: UInt32 = 0
    var leapSeconds: UInt32 = 0
    var utcFlags: UInt32 = 0
    var standardFlags: UInt32 = 0
    /// The number of types that the header claims, if it is wrong.
    var claimedTypes: UInt32?
    /// The number of times that the header claims, if it is wrong.
    var claimedTimes: UInt32?

    var testDescription: String {
        "version \(version), \(transitions.count) transitions, \(offsets.count) types"
    }

    var bytes: [UInt8] {
        // A 32-bit block with its own type, which a reader must skip and not use.
        var bytes = header(times: narrowTimes, types: 1, characters: 4, flags: false)
        for _ in 0..<narrowTimes { bytes += [0, 0, 0, 0, 0] }
        bytes += number(12_345 as Int32) + [0, 0] + Array("OLD\0".utf8)
        bytes += header(
            times: claimedTimes ?? UInt32(transitions.count),
            types: claimedTypes ?? UInt32(offsets.count), characters: 4, flags: true)
        for (time, _) in transitions { bytes += number(time) }
        bytes += transitions.map(\.type)
        for offset in offsets { bytes += number(offset) + [0, 0] }
        bytes += Array("NEW\0".utf8)
        bytes += [UInt8](repeating: 0, count: Int(leapSeconds * 12 + standardFlags + utcFlags))
        return bytes + Array("\n\(footer)\n".utf8)
    }

    func zone() throws(ZoneError) -> Zone { try Zone(identifier: "Test/Zone", tzif: bytes) }

    private func header(
        times: UInt32, types: UInt32, characters: UInt32, flags: Bool
    ) -> [UInt8] {
        Array("TZif".utf8) + [version] + [UInt8](repeating: 0, count: 15)
            + number(flags ? utcFlags : 0) + number(flags ? standardFlags : 0)
            + number(flags ? leapSeconds : 0) + number(times) + number(types)
            + number(characters)
    }

    private func number(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }
}

extension Instant {
    /// Parses an RFC 3339 instant of a test.
    init(_ text: String) throws {
        guard let instant = Instant(rfc3339: text) else { throw Unreadable(text: text) }
        self = instant
    }

    struct Unreadable: Error {
        var text: String
    }
}
