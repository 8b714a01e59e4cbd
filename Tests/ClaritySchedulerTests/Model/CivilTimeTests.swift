import ClarityScheduler
import Testing

struct CivilTimeTests {
    @Test func `every day of eight hundred years has the date after its predecessor's`() {
        let first = CivilTime.daysSince1970(year: 1599, month: 12, day: 31)
        let last = CivilTime.daysSince1970(year: 2400, month: 1, day: 1)
        var (year, month, day) = (1599, 12, 31)
        var weekday = 5  // 31 December 1599 was a Friday.
        var wrong: [Int] = []

        for days in first...last {
            let date = CivilTime.date(daysSince1970: days)
            let back = CivilTime.daysSince1970(year: year, month: month, day: day)
            let time = CivilTime(year: year, month: month, day: day)
            if date != (year, month, day) || back != days || time.weekday != weekday
                || !time.isValid
            {
                wrong.append(days)
            }
            let isLeap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0)
            let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            day += 1
            if day > lengths[month - 1] { (month, day) = (month + 1, 1) }
            if month > 12 { (year, month) = (year + 1, 1) }
            weekday = (weekday + 1) % 7
        }

        #expect(last - first == 292_195)
        #expect(wrong == [])
    }

    @Test(
        arguments: [
            (-86_400_001, CivilTime(1969, 12, 30, 23, 59, 59, 999)),
            (-1, CivilTime(1969, 12, 31, 23, 59, 59, 999)),
            (0, CivilTime(1970, 1, 1, 0, 0, 0, 0)),
            (951_827_696_007, CivilTime(2000, 2, 29, 12, 34, 56, 7)),
            (-62_167_219_200_001, CivilTime(-1, 12, 31, 23, 59, 59, 999)),
        ] as [(Int64, CivilTime)])
    func `milliseconds become the parts of a clock in UTC and back`(
        milliseconds: Int64, time: CivilTime
    ) {
        let parts = CivilTime(milliseconds)

        #expect(parts == time)
        #expect(time.millisecondsSince1970 == milliseconds)
    }

    @Test(arguments: [
        CivilTime(2026, 0, 1, 0, 0, 0, 0), CivilTime(2026, 13, 1, 0, 0, 0, 0),
        CivilTime(2026, 1, 0, 0, 0, 0, 0), CivilTime(2026, 1, 32, 0, 0, 0, 0),
        CivilTime(1900, 2, 29, 0, 0, 0, 0), CivilTime(2026, 6, 31, 0, 0, 0, 0),
        CivilTime(2026, 1, 1, 24, 0, 0, 0), CivilTime(2026, 1, 1, -1, 0, 0, 0),
        CivilTime(2026, 1, 1, 0, 60, 0, 0), CivilTime(2026, 1, 1, 0, 0, 60, 0),
        CivilTime(2026, 1, 1, 0, 0, 0, 1000), CivilTime(2026, 1, 1, 0, 0, 0, -1),
    ])
    func `a time with a part out of range is not valid`(time: CivilTime) {
        #expect(!time.isValid)
    }
}

extension CivilTime {
    init(
        _ year: Int, _ month: Int, _ day: Int, _ hour: Int, _ minute: Int, _ second: Int = 0,
        _ millisecond: Int = 0
    ) {
        self.init(
            year: year, month: month, day: day, hour: hour, minute: minute, second: second,
            millisecond: millisecond)
    }
}
