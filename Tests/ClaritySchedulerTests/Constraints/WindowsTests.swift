import ClarityTestSupport
import Testing

@testable import ClarityScheduler

@Suite struct WindowsTests {
    @Test(arguments: [
        ("09:00-17:30", "2026-11-20T08:59:59.999Z", false),
        ("09:00-17:30", "2026-11-20T09:00:00Z", true),
        ("09:00-17:30", "2026-11-20T17:29:59.999Z", true),
        ("09:00-17:30", "2026-11-20T17:30:00Z", false),
        ("22:00-06:00", "2026-11-20T21:59:00Z", false),
        ("22:00-06:00", "2026-11-20T22:00:00Z", true),
        ("22:00-06:00", "2026-11-20T05:59:00Z", true),
        ("22:00-06:00", "2026-11-20T06:00:00Z", false),
        // The 20th is a Friday. Its window lasts into Saturday morning; Saturday opens none.
        ("Mon..Fri 22:00-06:00", "2026-11-20T23:00:00Z", true),
        ("Mon..Fri 22:00-06:00", "2026-11-21T05:59:00Z", true),
        ("Mon..Fri 22:00-06:00", "2026-11-21T23:00:00Z", false),
        ("Mon..Fri 22:00-06:00", "2026-11-22T05:00:00Z", false),
        ("Sat,Sun 00:00-24:00", "2026-11-22T23:59:59Z", true),
        ("Sat,Sun 00:00-24:00", "2026-11-23T00:00:00Z", false),
    ])
    func `a window is open while the clock shows a time in it`(
        text: String, at: String, isOpen: Bool
    ) throws {
        let windows = Windows([try Window(text)], in: .utc)

        #expect(windows.isOpen(at: try #require(Instant(rfc3339: at))) == isOpen)
    }

    @Test(arguments: [
        ("09:00-17:30", "2026-11-20T08:00:00Z", "2026-11-20T09:00:00Z"),
        ("09:00-17:30", "2026-11-20T09:00:00Z", "2026-11-20T17:30:00Z"),
        ("22:00-06:00", "2026-11-20T23:00:00Z", "2026-11-21T06:00:00Z"),
        ("Mon 09:00-10:00", "2026-11-16T10:00:00Z", "2026-11-23T09:00:00Z"),
        ("Sun 20:00-24:00", "2026-11-22T21:00:00Z", "2026-11-23T00:00:00Z"),
        ("00:00-24:00", "2026-11-22T21:00:00Z", nil),
    ])
    func `a window changes at its ends`(text: String, at: String, next: String?) throws {
        let windows = Windows([try Window(text)], in: .utc)

        let change = windows.nextChange(after: try #require(Instant(rfc3339: at)))

        #expect(change.map { "\($0)" } == next)
    }

    @Test(arguments: [
        ("Mon..Fri 09:00-17:30", "Mon,Tue,Wed,Thu,Fri 09:00-17:30"),
        (
            "Sun,Sat  00:00-24:00",
            "Sat,Sun 00:00-24:00"
        ), ("22:00-06:00", "22:00-06:00"),
    ])
    func `a window is written as it was read`(text: String, written: String) throws {
        #expect("\(try Window(text))" == written)
        #expect(try Window(written) == Window(text))
    }

    @Test(arguments: [
        ("", "a time of day such as `22:00-06:00` or `Mon..Fri 09:00-17:00`"),
        ("22:00", "a time of day such as `22:00-06:00` or `Mon..Fri 09:00-17:00`"),
        ("Mon..Fri", "a time of day such as `22:00-06:00` or `Mon..Fri 09:00-17:00`"),
        ("9:00-17:00", "two times from `00:00` to `24:00`"),
        ("09:00-24:01", "two times from `00:00` to `24:00`"),
        ("09:60-10:00", "two times from `00:00` to `24:00`"),
        ("09:00-+1:00", "two times from `00:00` to `24:00`"),
        ("24:00-06:00", "a start before `24:00` and an end after `00:00`"),
        ("22:00-00:00", "a start before `24:00` and an end after `00:00`"),
        ("06:00-06:00", "an end other than the start; the whole day is `00:00-24:00`"),
        ("Moon 06:00-07:00", "weekdays such as `Mon..Fri` or `Sat,Sun`"),
        ("Mon 06:00-07:00 UTC", "a time of day such as `22:00-06:00` or `Mon..Fri 09:00-17:00`"),
    ])
    func `a text that is no window is refused with what was wanted`(text: String, wanted: String) {
        let error = #expect(throws: ExpressionError.self) { try Window(text) }

        #expect(error == ExpressionError(.window, got: text, wanted: wanted))
    }

    /// Zones, each with a start less than two days before its clock skips or repeats time.
    private static let around: [(zone: String, from: String)] = [
        ("Europe/London", "2026-03-28T12:00:00Z"), ("Europe/London", "2026-10-24T12:00:00Z"),
        ("Australia/Lord_Howe", "2026-04-04T00:00:00Z"),
        ("Australia/Lord_Howe", "2026-10-03T00:00:00Z"),
        ("America/Sao_Paulo", "2018-11-03T00:00:00Z"),
    ]

    @Test(arguments: around.map(\.zone).indices)
    func `the changes of a window are those that a walk by the minute sees`(index: Int) throws {
        let (name, from) = Self.around[index]
        let zone = try SystemZones.zone(name)
        let start = try #require(Instant(rfc3339: from))
        for text in [
            "01:00-02:00", "01:30-02:30", "00:30-01:15", "02:00-01:00", "01:15-01:45",
            "Sun 00:00-01:30", "Sat 23:00-02:15", "00:00-24:00", "02:10-02:20",
        ] {
            let windows = Windows([try Window(text), try Window("04:00-04:30")], in: zone)
            var walked: [Instant] = []
            for minute in 1...(3 * 24 * 60) {
                let at = start + .seconds(Int64(minute) * 60)
                if windows.isOpen(at: at) != windows.isOpen(at: at - .seconds(60)) {
                    walked.append(at)
                }
            }

            var found: [Instant] = []
            var at = start
            while let next = windows.nextChange(after: at), next <= start + .seconds(3 * 86_400) {
                found.append(next)
                at = next
            }

            #expect(found == walked, "\(text) in \(name)")
        }
    }
}
