import JSON
import Testing

@testable import clarity_jobs_sandbox

@Suite struct MetricValidationTests {
    private static let base: JSON = .heartRate(1)

    private static func metric(_ type: String, _ payload: String, _ data: JSON) -> JSON {
        base.with("metric_type", .string(type)).with("biometric_data", nil).with(payload, data)
    }

    private func faults(_ metrics: [JSON]) -> [String] {
        var validation = Validation(now: Bench.start)
        _ = validation.metrics(
            Node(value: .array(metrics), location: "body" / "metrics"), .blueprint)
        return validation.faults.map { fault in
            let path = fault.location.steps.map { step in
                switch step {
                case .name(let name): name
                case .index(let index): String(index)
                }
            }
            return path.dropFirst(2).joined(separator: ".") + " " + fault.type
        }
    }

    private static let night: JSON = [
        "total_sleep_minutes": 412.5, "sleep_efficiency": 0.91,
        "sleep_start": "2026-11-19T22:40:00+01:00", "sleep_end": "2026-11-20T06:20:00+01:00",
    ]

    @Test(arguments: [
        base,
        base.with("metric_id", "AAAAAAAA-BBBB-4CCC-8DDD-00000000000F"),
        base.with("sleep_data", .null).with("device_id", .null),
        base.with("created_at", .time(Bench.start)),
        base.with("biometric_data", ["heart_rate": 30]),
        base.with("biometric_data", ["heart_rate": 220.0, "body_temperature": 36.6]),
        base.with("raw_data", ["any": [1, "two", .null]]).with("metadata", [:]),
        metric("heart_rate_variability", "biometric_data", ["heart_rate_variability": 41.5]),
        metric(
            "blood_pressure", "biometric_data",
            ["blood_pressure_systolic": 121, "blood_pressure_diastolic": 79]),
        metric("blood_oxygen", "biometric_data", ["oxygen_saturation": 97]),
        metric("respiratory_rate", "biometric_data", ["respiratory_rate": 14.5]),
        metric("environmental", "biometric_data", ["body_temperature": 36.6]),
        metric("sleep_analysis", "sleep_data", night),
        metric(
            "sleep_analysis", "sleep_data",
            night.with("sleep_stages", ["deep": 80, "rem": 95.5]).with("wake_count", 3)),
        metric("activity_level", "activity_data", ["steps": 5]),
        metric("activity_level", "activity_data", ["steps": 5.0, "distance": 0.004]),
        metric("mood_assessment", "mental_health_data", ["mood_score": "good"]),
        metric(
            "stress_indicators", "mental_health_data",
            ["stress_level": 10, "notes": "a\nb", "timestamp": "2026-11-20T06:00:00Z"]),
    ])
    func `a metric that keeps to the contract passes`(_ metric: JSON) {
        #expect(faults([metric]) == [])
    }

    @Test(
        arguments: [
            (base.with("metric_id", nil), ["0.metric_id missing"]),
            (base.with("metric_id", "7"), ["0.metric_id uuid_parsing"]),
            (base.with("metric_id", 7), ["0.metric_id uuid_parsing"]),
            (base.with("metric_type", "pulse"), ["0.metric_type enum"]),
            (base.with("metric_type", nil), ["0.metric_type missing"]),
            (base.with("created_at", nil), ["0.created_at missing"]),
            (base.with("created_at", "yesterday"), ["0.created_at datetime_parsing"]),
            (base.with("created_at", 1_700_000_000), ["0.created_at datetime_parsing"]),
            (
                base.with("created_at", .time(Bench.start + .milliseconds(1))),
                ["0.created_at datetime_past"]
            ),
            (base.with("device_id", 5), ["0.device_id string_type"]),
            (base.with("device_id", "a\u{0}b"), ["0.device_id string_control_character"]),
            (base.with("raw_data", []), ["0.raw_data dict_type"]),
            (base.with("metadata", "x"), ["0.metadata dict_type"]),
            (base.with("biometric_data", nil), ["0.biometric_data missing"]),
            (base.with("biometric_data", 61), ["0.biometric_data dict_type"]),
            (
                base.with("biometric_data", [:]),
                ["0.biometric_data.heart_rate missing", "0.biometric_data value_error"]
            ),
            (base.with("activity_data", ["steps": 1]), ["0.activity_data extra_forbidden"]),
            (
                base.with("biometric_data", nil).with("activity_data", ["steps": 1]),
                ["0.activity_data extra_forbidden", "0.biometric_data missing"]
            ),
            (
                base.with("biometric_data", ["body_temperature": 36.6]),
                ["0.biometric_data.heart_rate missing"]
            ),
            (
                base.with("biometric_data", ["heart_rate": "61"]),
                ["0.biometric_data.heart_rate float_type"]
            ),
            (
                base.with("biometric_data", ["heart_rate": true]),
                ["0.biometric_data.heart_rate float_type"]
            ),
            (
                base.with("biometric_data", ["heart_rate": 29.9]),
                ["0.biometric_data.heart_rate greater_than_equal"]
            ),
            (
                base.with("biometric_data", ["heart_rate": 221]),
                ["0.biometric_data.heart_rate less_than_equal"]
            ),
            (
                base.with("biometric_data", ["heart_rate": 61, "body_temperature": 98.6]),
                ["0.biometric_data.body_temperature less_than_equal"]
            ),
            (
                metric(
                    "blood_pressure", "biometric_data",
                    ["blood_pressure_systolic": 79, "blood_pressure_diastolic": 121]),
                ["0.biometric_data.blood_pressure_systolic value_error"]
            ),
            (
                metric("blood_oxygen", "biometric_data", ["oxygen_saturation": 0.97]),
                ["0.biometric_data.oxygen_saturation greater_than_equal"]
            ),
            (
                metric("sleep_analysis", "sleep_data", night.with("sleep_efficiency", 91)),
                ["0.sleep_data.sleep_efficiency less_than_equal"]
            ),
            (
                metric(
                    "sleep_analysis", "sleep_data", night.with("sleep_end", night["sleep_start"])),
                ["0.sleep_data.sleep_end value_error"]
            ),
            (
                metric("sleep_analysis", "sleep_data", night.with("sleep_stages", ["deep": -1])),
                ["0.sleep_data.sleep_stages.deep greater_than_equal"]
            ),
            (
                metric("activity_level", "activity_data", ["steps": 5.5]),
                ["0.activity_data.steps int_from_float"]
            ),
            (
                metric("activity_level", "activity_data", ["calories": 5]),
                ["0.activity_data value_error"]
            ),
            (
                metric("mood_assessment", "mental_health_data", ["mood_score": "fine"]),
                ["0.mental_health_data.mood_score enum"]
            ),
            ("text", ["0 dict_type"]),
            (.null, ["0 dict_type"]),
        ] as [(JSON, [String])])
    func `a metric that does not is refused with its place`(
        _ metric: JSON, _ expected: [String]
    ) {
        #expect(faults([metric]) == expected)
    }

    @Test func `every fault of a body is told with its index`() {
        let found = faults([.heartRate(1), .heartRate(2, bpm: 10), .heartRate(3, bpm: 300)])

        #expect(
            found == [
                "1.biometric_data.heart_rate greater_than_equal",
                "2.biometric_data.heart_rate less_than_equal",
            ])
    }

    @Test func `an id twice in a body is refused, in either case`() {
        let found = faults([
            .heartRate(10), .heartRate(11),
            JSON.heartRate(12).with("metric_id", "AAAAAAAA-BBBB-4CCC-8DDD-00000000000A"),
        ])

        #expect(found == ["2.metric_id value_error"])
    }

    @Test(arguments: [(0, [" too_short"]), (1, []), (100, []), (101, [" too_long"])])
    func `a body has 1 to 100 metrics`(_ count: Int, _ expected: [String]) {
        #expect(faults((0..<count).map { .heartRate($0) }) == expected)
    }

    @Test func `the list of faults is bounded`() {
        let found = faults((0..<100).map { .object([.init(name: "x\($0)", value: 1)]) })

        #expect(found.count == Validation(now: Bench.start).mostFaults)
    }

    @Test func `every range refuses what lies just outside and takes its ends`() throws {
        for payload in Dialect.blueprint.payloads {
            for field in payload.fields {
                let range: ClosedRange<Double>
                let isWhole: Bool
                switch field.kind {
                case .number(let found): (range, isWhole) = (found, false)
                case .count(let found): (range, isWhole) = (found, true)
                default: continue
                }
                let step = isWhole ? 1.0 : 0.001
                for (value, isInside) in [
                    (range.lowerBound, true), (range.upperBound, true),
                    (range.lowerBound - step, false), (range.upperBound + step, false),
                ] {
                    var validation = Validation(now: Bench.start)
                    let node = Node(value: .number(value), location: "body")
                    _ = validation.number(node, range, whole: isWhole)
                    #expect(validation.faults.isEmpty == isInside, "\(field.name) \(value)")
                }
            }
        }
    }
}
