import Testing

@testable import HealthModel

@Suite struct MetricSelectionTests {
    @Test(arguments: [
        ("heart_rate", MetricGroup.heartRate, [Measure.heartRate]),
        ("blood_oxygen", .oxygenSaturation, [.oxygenSaturation]),
        ("oxygen_saturation", .oxygenSaturation, [.oxygenSaturation]),
        ("blood_pressure", .bloodPressure, [.systolic, .diastolic]),
        ("steps", .activity, [.steps]),
        ("resting_heart_rate", .activity, [.restingHeartRate]),
        ("sleep_efficiency", .sleep, [.sleepEfficiency]),
        ("stress_indicators", .mentalHealth, MetricGroup.mentalHealth.measures),
    ])
    func `a name stands for a group, a measure or a type of the backend's`(
        name: String, group: MetricGroup, measures: [Measure]
    ) {
        let selection = MetricSelection(named: name)

        #expect(selection?.group == group)
        #expect(selection?.measures == measures)
    }

    @Test(arguments: ["", "heart", "environmental", "Heart_Rate"])
    func `any other name stands for nothing`(name: String) {
        #expect(MetricSelection(named: name) == nil)
    }

    @Test func `every name that is offered stands for something`() {
        #expect(MetricSelection.names.allSatisfy { MetricSelection(named: $0) != nil })
        #expect(Set(MetricSelection.names).count == MetricSelection.names.count)
    }

    @Test func `every kind of samples and every measure has one group`() {
        // The backend returns neither as a metric.
        let without: Set<SampleKind> = [.environmental, .workout]
        for kind in SampleKind.allCases {
            let count = MetricGroup.allCases.count { $0.kinds.contains(kind) }
            #expect(count == (without.contains(kind) ? 0 : 1), "\(kind)")
        }
        for measure in Measure.allCases {
            #expect(MetricGroup.allCases.count { $0.measures.contains(measure) } == 1, "\(measure)")
        }
    }

    @Test func `each measure has a code of its own that finds it`() {
        #expect(Set(Measure.allCases.map(\.code)).count == Measure.allCases.count)
        #expect(Measure.allCases.allSatisfy { Measure(code: $0.code) == $0 })
        #expect(Measure(code: 0) == nil && Measure(code: 255) == nil)
    }
}
