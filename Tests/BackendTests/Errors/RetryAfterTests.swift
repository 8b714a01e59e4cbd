import ClarityScheduler
import Testing

@testable import Backend
@testable import BackendContract

struct RetryAfterTests {
    private static let longest = Duration.seconds(5 * 3600)

    static let rows: [(String?, Duration?)] = [
        (nil, nil), ("", nil), ("0", nil), ("1", .seconds(1)), ("30", .seconds(30)),
        ("3600", .seconds(3600)), ("3601", .seconds(3601)), ("7200", .seconds(7200)),
        ("18000", longest), ("18001", longest), ("86400", longest), ("-5", nil), ("1.5", nil),
        ("soon", nil),
        ("99999999999999999999", longest), ("000", nil),
        ("Fri, 20 Nov 2026 06:00:30 GMT", .seconds(30)),
        ("Fri, 20 Nov 2026 07:00:00 GMT", .seconds(3600)),
        ("Fri, 20 Nov 2026 08:00:00 GMT", .seconds(7200)),
        ("Sat, 21 Nov 2026 06:00:00 GMT", longest),
        ("Fri, 20 Nov 2026 05:59:00 GMT", nil),
        ("Fri, 20 Nov 2026 06:00:30 CET", nil), ("Fri, 31 Feb 2026 06:00:30 GMT", nil),
        ("Fri, 20 Nov 99999999999 06:00:30 GMT", nil), ("Fri, 20 Nov 2026 06:00 GMT", nil),
    ]

    @Test(arguments: rows)
    func `a wait of a second or more is believed, up to five hours`(field: String?, wait: Duration?)
    {
        #expect(RetryAfter.believable(field, now: morning) == wait)
    }

    @Test(arguments: [
        ("Fri, 20 Nov 2026 06:00:30 GMT", "Fri, 20 Nov 2026 06:00:00 GMT", Duration.seconds(30)),
        // A server's clock that is three hours ahead, and one that is three hours behind.
        ("Fri, 20 Nov 2026 09:00:30 GMT", "Fri, 20 Nov 2026 09:00:00 GMT", .seconds(30)),
        ("Fri, 20 Nov 2026 03:02:00 GMT", "Fri, 20 Nov 2026 03:00:00 GMT", .seconds(120)),
        ("Fri, 20 Nov 2026 06:00:30 GMT", "yesterday", .seconds(30)),
    ])
    func `a date is on the clock that the answer was made by`(
        field: String, date: String, wait: Duration
    ) {
        let response = HTTPResponse(status: 503, headers: ["retry-after": field, "date": date])

        #expect(APIError(response, now: morning) == .server(status: 503, after: wait))
    }
}
