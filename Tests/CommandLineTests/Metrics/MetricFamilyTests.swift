import Testing

@testable import clarity_jobs_web

@Suite("The text format of Prometheus")
struct MetricFamilyTests {
    @Test func `a family has its help, its type and its samples`() {
        var family = MetricFamily("runs_total", .counter, "Finished \\ runs,\nby \"end\".")
        family.add(.count(3))
        family.add(.count(-1), [.init(name: "a", value: "x"), .init(name: "b", value: "y")])

        #expect(
            PrometheusText.text([family, MetricFamily("none", .gauge, "Nothing.")]) == #"""
                # HELP clarity_jobs_runs_total Finished \\ runs,\nby "end".
                # TYPE clarity_jobs_runs_total counter
                clarity_jobs_runs_total 3
                clarity_jobs_runs_total{a="x",b="y"} -1

                """#)
    }

    @Test(arguments: [
        (#"a"b"#, #"a\"b"#), (#"a\b"#, #"a\\b"#), ("a\nb", #"a\nb"#), ("a\r\nb", "a\r\\nb"),
        ("é}", "é}"),
    ])
    func `the value of a label is escaped`(value: String, escaped: String) {
        var family = MetricFamily("a", .gauge, "A.")
        family.add(.count(1), [.init(name: "l", value: value)])

        #expect(
            PrometheusText.text([family]).hasSuffix("clarity_jobs_a{l=\"\(escaped)\"} 1\n"))
    }

    @Test(arguments: [
        (0, "0"), (1, "0.001"), (100, "0.1"), (1000, "1"), (1250, "1.25"), (-1500, "-1.5"),
        (1_764_000_000_123, "1764000000.123"), (10_000, "10"), (Int64.min, "-9223372036854775.808"),
    ])
    func `milliseconds are written as seconds`(number: Int64, text: String) {
        #expect(MetricFamily.Value.milliseconds(number).text == text)
    }

    @Test func `the buckets of a histogram count all that is below them`() {
        var family = MetricFamily("d_seconds", .histogram, "D.")
        family.add(
            bounds: [100, 1000], counts: [2, 0, 1], sumMilliseconds: 2500,
            [.init(name: "j", value: "a")])

        #expect(
            PrometheusText.text([family]).split(separator: "\n").dropFirst(2) == [
                #"clarity_jobs_d_seconds_bucket{j="a",le="0.1"} 2"#,
                #"clarity_jobs_d_seconds_bucket{j="a",le="1"} 2"#,
                #"clarity_jobs_d_seconds_bucket{j="a",le="+Inf"} 3"#,
                #"clarity_jobs_d_seconds_sum{j="a"} 2.5"#,
                #"clarity_jobs_d_seconds_count{j="a"} 3"#,
            ])
    }
}
