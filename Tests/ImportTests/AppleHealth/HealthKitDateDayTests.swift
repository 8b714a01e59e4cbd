import Testing

@testable import Import

@Suite struct HealthKitDateDayTests {
    @Test(arguments: [
        ("1970-01-01", 0), ("2024-01-21", 19_743), ("2024-02-29", 19_782), ("2023-02-29", nil),
        ("0000-00-00", nil), ("1899-12-31", nil), ("2200-01-01", nil), ("2024-13-01", nil),
        ("2024-1-21", nil),
        ("2024-01-21 ", nil), ("2024/01/21", nil), ("2O24-01-21", nil), ("", nil),
    ])
    func `a date is the days since 1970`(text: String, day: Int?) {
        let found = Array(text.utf8).withUnsafeBufferPointer { HealthKitDate.day($0) }

        #expect(found == day)
    }
}
