import Testing

@testable import Import

@Suite struct HealthKitDateTests {
    @Test(arguments: [
        ("1970-01-01 00:00:00 +0000", 0),
        ("2024-01-21 08:30:00 -0500", 1_705_843_800),
        ("2024-01-21 13:30:00 +0000", 1_705_843_800),
        ("2024-01-21 19:00:00 +0530", 1_705_843_800),
        ("2024-02-29 23:59:59 +0000", 1_709_251_199),
        ("1969-12-31 23:59:59 +0000", -1),
        ("1900-01-01 00:00:00 +0000", -2_208_988_800),
        ("2199-12-31 23:59:59 +0000", 7_258_118_399),
        ("20150616071916-0700", 1_434_464_356),
    ])
    func `a date of an export is an instant`(text: String, seconds: Int64) {
        #expect(parse(text) == seconds)
    }

    @Test func `a reader of many dates reads each as it is read alone`() {
        let days = ["2024-01-21", "2024-01-22", "2O24-01-21"]
        let times = [
            " 08:30:00", " 23:59:59", " 24:00:00", " 08:60:00", " 08:30:60", " 08:3x:00",
            "T08:30:00", " 08.30:00",
        ]
        let zones = [" -0500", " +0530", " *0500", "&#32;+0530"]
        var reader = DateReader()
        for text in days.flatMap({ day in times.flatMap { time in zones.map { day + time + $0 } } })
            + ["20150616071916-0700", ""]
        {
            let (read, alone) = Array(text.utf8).withUnsafeBufferPointer {
                (reader.date($0), Reference.decoded($0, HealthKitDate.init))
            }
            #expect(read?.seconds == alone?.seconds && read?.offset == alone?.offset, "\(text)")
        }
    }

    @Test(arguments: [
        "", "2024-01-21", "2024-01-21T08:30:00Z", "2024-01-21 08:30:00", "2024-01-21 08:30:00 0500",
        "2024-13-01 08:30:00 -0500", "2024-00-01 08:30:00 -0500", "2023-02-29 08:30:00 -0500",
        "2024-01-21 24:00:00 -0500", "2024-01-21 08:60:00 -0500", "2024-01-21 08:30:60 -0500",
        "2024-01-21 08:30:00 -2400", "2024-01-21 08:30:00 -0560", "2024-01-21 08:30:00 *0500",
        "2024/01/21 08:30:00 -0500", "2O24-01-21 08:30:00 -0500", "0001-01-01 00:00:00 +0000",
        "1899-12-31 23:59:59 +0000", " 2024-01-21 08:30:00 -0500", "20150616071916*0700",
        "21/01/2024 8:30 PM", "2569-10-05 08:00:00 +0700", "2200-01-01 00:00:00 +0000",
        "25691005080000+0700",
    ])
    func `anything else is no date`(text: String) {
        #expect(parse(text) == nil)
    }

    private func parse(_ text: String) -> Int64? {
        Array(text.utf8).withUnsafeBufferPointer { HealthKitDate.seconds($0) }
    }
}
