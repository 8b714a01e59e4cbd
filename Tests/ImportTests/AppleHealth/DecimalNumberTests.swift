import Testing

@testable import Import

@Suite struct DecimalNumberTests {
    @Test(arguments: [
        ("0", 0.0), ("72", 72), ("-1", -1), ("+3", 3), ("0.0110599", 0.0110599), (".5", 0.5),
        ("5.", 5), ("1e3", 1000), ("1.5E-05", 1.5e-5), ("123456789012345", 123_456_789_012_345),
        ("0.1234567890123456789", 0.1234567890123456789),
        ("98765432109876543210", 98_765_432_109_876_543_488),
    ])
    func `a decimal number is the nearest double`(text: String, number: Double) {
        #expect(parse(text) == number)
    }

    @Test func `short numbers are exactly those of the standard library`() {
        var state: UInt64 = 20_240_121
        for _ in 0..<20_000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let whole = (state >> 33) % 100_000
            let text = "\(whole).\((state >> 11) % 1_000_000_000)"

            #expect(parse(text) == Double(text), "\(text)")
        }
    }

    @Test(arguments: [
        "", "-", ".", "nan", "inf", "-inf", "infinity", "0x48", "0x1p3", "72,5", "72 bpm", " 72",
        "72 ", "1e", "1e+", "e5", "1e400", "1.2.3", "--1", "1_000", "HKCategoryValueNotApplicable",
    ])
    func `anything else is no number`(text: String) {
        #expect(parse(text) == nil)
    }

    private func parse(_ text: String) -> Double? {
        Array(text.utf8).withUnsafeBufferPointer { DecimalNumber.parse($0) }
    }
}
