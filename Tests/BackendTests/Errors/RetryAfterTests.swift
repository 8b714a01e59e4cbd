import ClarityScheduler
import Testing

@testable import Backend
@testable import BackendContract

struct RetryAfterTests {
    static let rows: [(String?, Duration?)] = [
        (nil, nil), ("", nil), ("0", nil), ("1", .seconds(1)), ("30", .seconds(30)),
        ("3600", .seconds(3600)), ("3601", nil), ("-5", nil), ("1.5", nil), ("soon", nil),
        ("99999999999999999999", nil),
        ("Fri, 20 Nov 2026 06:00:30 GMT", .seconds(30)),
        ("Fri, 20 Nov 2026 07:00:00 GMT", .seconds(3600)),
        ("Fri, 20 Nov 2026 07:00:01 GMT", nil), ("Fri, 20 Nov 2026 05:59:00 GMT", nil),
        ("Fri, 20 Nov 2026 06:00:30 CET", nil), ("Fri, 31 Feb 2026 06:00:30 GMT", nil),
        ("Fri, 20 Nov 99999999999 06:00:30 GMT", nil), ("Fri, 20 Nov 2026 06:00 GMT", nil),
    ]

    @Test(arguments: rows)
    func `only a wait between a second and an hour is believed`(field: String?, wait: Duration?) {
        #expect(RetryAfter.believable(field, now: morning) == wait)
    }
}
