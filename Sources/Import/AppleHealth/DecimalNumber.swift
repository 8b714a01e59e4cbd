/// Parses the numbers of an export: decimal, with a point, finite.
enum DecimalNumber {
    /// Parses `72`, `0.0110599`, `-1.5e-05`; returns `nil` for `nan`, `inf`, `0x48`, `72,5`,
    /// `72 bpm`, empty text, and numbers beyond the range of `Double`.
    ///
    /// The result is the nearest `Double`. For up to 15 digits without an exponent, that is one
    /// division of two exact numbers (Clinger's fast path); the standard library parses the rest.
    static func parse(_ bytes: Bytes) -> Double? {
        var index = 0
        var isNegative = false
        if let first = bytes.first, first == UInt8(ascii: "-") || first == UInt8(ascii: "+") {
            isNegative = first == UInt8(ascii: "-")
            index = 1
        }
        var digits = 0
        var decimals = 0
        var mantissa: UInt64 = 0
        var hasPoint = false
        while index < bytes.count {
            let digit = bytes[index] &- 0x30
            if digit <= 9 {
                mantissa = mantissa &* 10 &+ UInt64(digit)
                digits += 1
                if hasPoint { decimals += 1 }
            } else if bytes[index] == UInt8(ascii: "."), !hasPoint {
                hasPoint = true
            } else {
                break
            }
            index += 1
        }
        guard digits > 0 else { return nil }
        if index == bytes.count, digits <= 15 {
            let number = Double(mantissa) / powersOfTen[decimals]
            return isNegative ? -number : number
        }
        guard index == bytes.count || isExponent(bytes, index),
            let number = Double(String(decoding: bytes, as: UTF8.self)), number.isFinite
        else { return nil }
        return number
    }

    private static func isExponent(_ bytes: Bytes, _ start: Int) -> Bool {
        guard bytes[start] | 0x20 == UInt8(ascii: "e") else { return false }
        var index = start + 1
        if index < bytes.count,
            bytes[index] == UInt8(ascii: "-") || bytes[index] == UInt8(ascii: "+")
        {
            index += 1
        }
        return index < bytes.count && bytes[index...].allSatisfy { $0 &- 0x30 <= 9 }
    }

    private static let powersOfTen: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    ]
}
