import HealthStore
import JSON

/// The beats that the watch measured for a heart rate variability: for each the seconds after the
/// start of the record, and the beats a minute.
///
/// The export writes the time of each beat on a wall clock, in the phone's language and the time zone
/// in which it exports, without a date: `7:04:44.86 PM`. Hours therefore tell nothing, and clocks
/// differ by quarters of an hour; seconds since the beat before do not depend on either.
struct Heartbeats {
    /// A quarter of an hour, in hundredths of a second.
    private static let quarter = 90_000
    /// The longest list that is kept: 1 MiB, of which no series has a hundredth.
    private static let longest = 1 << 20

    /// Pairs of JSON, with a comma behind each.
    private var pairs: [UInt8] = []
    private var last: Int
    private let start: Int

    /// - Parameter start: the start of the record, in seconds since 1970.
    init(since start: Int64) {
        let quarters = Int64(Heartbeats.quarter / 100)
        self.start = Int(start - start / quarters * quarters) * 100
        last = self.start
    }

    mutating func add(rate: Bytes, time: Bytes) {
        guard pairs.count < Heartbeats.longest else { return }
        pairs.append(UInt8(ascii: "["))
        if let time = Heartbeats.hundredths(time) {
            let half = Heartbeats.quarter / 2
            // The nearest time to the last beat, which the quarters of an hour do not tell.
            var passed = (time - last) % Heartbeats.quarter
            if passed > half { passed -= Heartbeats.quarter }
            if passed < -half { passed += Heartbeats.quarter }
            last += passed
            pairs += Array(
                RecordNumber.text(mantissa: Int64(last - start), decimals: 2).utf8)
        } else {
            pairs += Array("null".utf8)
        }
        pairs.append(UInt8(ascii: ","))
        if RecordNumber.parse(rate) != nil {
            pairs += rate
        } else {
            pairs += Array("null".utf8)
        }
        pairs += Array("],".utf8)
    }

    /// Returns the record beside the one that the beats belong to.
    func record(beside other: ArchivedRecord, _ texts: TextTable) -> UnplacedRecord {
        var origin = RecordOrigin(texts[other.origin])
        origin.unit = nil
        origin.type = nil
        var record = other
        record.value = .none
        record.metadata = nil
        let list = "[\(String(decoding: pairs.dropLast(), as: UTF8.self))]"
        return UnplacedRecord(
            type: Heartbeats.type, record: record, origin: origin,
            members: [JSON.Member(name: "beats", value: .string(list))])
    }

    /// As HealthKit names a series of beats.
    private static let type = "HKDataTypeIdentifierHeartbeatSeries"

    /// Parses minutes, seconds and hundredths of a time such as `7:04:44.86 PM` or `08:34:05,10`;
    /// returns `nil` for anything else.
    private static func hundredths(_ text: Bytes) -> Int? {
        var numbers: [Int] = []
        var isInNumber = false
        for byte in text {
            let digit = byte &- 0x30
            guard digit <= 9 else {
                isInNumber = false
                continue
            }
            if isInNumber, let number = numbers.popLast() {
                numbers.append(number * 10 + Int(digit))
            } else {
                numbers.append(Int(digit))
            }
            guard numbers.count <= 4, (numbers.last ?? 0) < 100 else { return nil }
            isInNumber = true
        }
        guard numbers.count == 4 else { return nil }
        return (numbers[1] * 60 + numbers[2]) * 100 + numbers[3]
    }
}
