import ClarityScheduler
import Testing

struct DurationTextTests {
    @Test(arguments: [
        ("0s", 0), ("250ms", 250), ("30s", 30_000), ("15m", 900_000), ("6h", 21_600_000),
        ("90d", 7_776_000_000), ("2w", 1_209_600_000), ("1h30m", 5_400_000),
        ("1w2d3h4m5s6ms", 788_645_006), ("007s", 7000), ("36600d", 3_162_240_000_000),
    ])
    func `a span is read with its units`(text: String, milliseconds: Int64) {
        #expect(Duration(text: text) == .milliseconds(milliseconds))
    }

    @Test(arguments: [
        "", "90", "s", "1.5h", "-1s", "+1s", "1 h", "1h 30m", "30m1h", "1h1h", "1h30", "1y", "1H",
        "36601d", "99999999999999999999s", "9223372036854775807w", "٣s", "1s ",
    ])
    func `a text that is no span is refused`(text: String) {
        #expect(Duration(text: text) == nil)
    }

    @Test(arguments: [
        (0, "0s"), (1, "1ms"), (999, "999ms"), (1000, "1s"), (5_400_000, "1h 30m"),
        (86_400_000, "1d"), (1_209_600_000, "14d"), (90_061_001, "1d 1h 1m 1s 1ms"),
        (-1500, "-1s 500ms"), (Int64.min, "-106751991167d 7h 12m 55s 808ms"),
    ])
    func `a span is written in the fewest units`(milliseconds: Int64, text: String) {
        #expect(Duration.milliseconds(milliseconds).text == text)
    }

    @Test(
        arguments: [
            (Duration.microseconds(1999), 1), (.microseconds(-1999), -1), (.nanoseconds(1), 0),
            (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
            (.seconds(9_223_372_036_854_775) + .milliseconds(807), .max),
            (.seconds(9_223_372_036_854_775) + .milliseconds(808), .max),
            (.seconds(-9_223_372_036_854_775) - .milliseconds(809), .min),
        ] as [(Duration, Int64)])
    func `milliseconds round towards zero and stop at the ends`(
        span: Duration, milliseconds: Int64
    ) {
        #expect(span.milliseconds == milliseconds)
    }
}
