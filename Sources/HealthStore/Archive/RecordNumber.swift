/// A decimal number exactly as it was written.
package enum RecordNumber {
    /// The most digits after the point.
    package static let mostDecimals = 18

    /// Parses digits with at most one point among them, after an optional `-`.
    ///
    /// - Returns: `nil` for a number that `text` would write in another way, and for any other text.
    package static func parse(
        _ bytes: UnsafeBufferPointer<UInt8>
    ) -> (mantissa: Int64, decimals: UInt8)? {
        var index = 0
        let isNegative = bytes.first == UInt8(ascii: "-")
        if isNegative { index = 1 }
        let first = index
        var point: Int?
        var mantissa: Int64 = 0
        while index < bytes.count {
            let digit = bytes[index] &- 0x30
            if digit <= 9 {
                mantissa = mantissa &* 10 &+ Int64(digit)
            } else {
                guard bytes[index] == UInt8(ascii: "."), point == nil else { return nil }
                point = index
            }
            index += 1
        }
        let decimals = point.map { bytes.count - $0 - 1 } ?? 0
        let whole = (point ?? bytes.count) - first
        // At most 18 digits fit; a zero in front, or none, would be lost.
        guard whole >= 1, whole + decimals <= mostDecimals, point == nil || decimals > 0,
            whole == 1 || bytes[first] != UInt8(ascii: "0"), !isNegative || mantissa != 0
        else { return nil }
        return (isNegative ? -mantissa : mantissa, UInt8(decimals))
    }

    /// Returns the number as it was written.
    package static func text(mantissa: Int64, decimals: UInt8) -> String {
        var digits = String(mantissa.magnitude)
        let decimals = Int(decimals)
        if digits.utf8.count <= decimals {
            digits = String(repeating: "0", count: decimals + 1 - digits.utf8.count) + digits
        }
        if decimals > 0 {
            digits.insert(".", at: digits.index(digits.endIndex, offsetBy: -decimals))
        }
        return mantissa < 0 ? "-" + digits : digits
    }
}

extension Double {
    /// The number nearest to a decimal one. SQLite 3.40 and others are off by a digit at times.
    init(_ mantissa: Int64, decimals: UInt8) {
        // Both are exact below 2^53 and 10^22, so that the quotient is rounded once.
        if mantissa.magnitude < 1 << 53, decimals < Double.powers.count {
            self = Double(mantissa) / Double.powers[Int(decimals)]
        } else {
            self = Double(RecordNumber.text(mantissa: mantissa, decimals: decimals)) ?? .nan
        }
    }

    private static let powers: [Double] = (0...18).reduce(into: [1]) { powers, _ in
        powers.append((powers.last ?? 1) * 10)
    }
}
