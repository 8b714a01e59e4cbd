import HealthModel
import ClarityScheduler
import Testing

@Suite struct SampleIdentityTests {
    private let sample = Sample(
        kind: .heartRate, start: Instant(secondsSince1970: 1_705_843_800),
        end: Instant(secondsSince1970: 1_705_843_800), value: .single(61), source: "Watch")

    @Test func `the bytes of an identity never change`() {
        let start: [UInt8] = [0, 0, 0, 0, 0x65, 0xAD, 0x1C, 0x58]

        #expect(
            sample.identity == Array("heart_rate".utf8) + [0] + start + start + Array("61.0".utf8))
    }

    @Test func `an instant before 1970 has an identity`() {
        var early = sample
        early.start = Instant(millisecondsSince1970: -1)

        #expect(Array(early.identity[11..<19]) == [UInt8](repeating: 0xFF, count: 8))
    }

    @Test func `a renamed source is the same sample`() {
        var renamed = sample
        renamed.source = "Old Watch"
        var unnamed = sample
        unnamed.source = nil

        #expect(renamed.identity == sample.identity)
        #expect(unnamed.identity == sample.identity)
    }

    @Test func `what rounding and whole seconds hide is the same sample`() {
        var rewritten = sample
        rewritten.value = .single(61.0001)
        rewritten.start = Instant(millisecondsSince1970: 1_705_843_800_999)

        #expect(rewritten.identity == sample.identity)
    }

    @Test func `another value, kind or time is another sample`() {
        var others = [Sample](repeating: sample, count: 4)
        others[0].value = .single(62)
        others[1].kind = .restingHeartRate
        others[2].start = sample.start + .seconds(1)
        others[3].end = sample.end + .seconds(1)

        let identities = Set((others + [sample]).map(\.identity))

        #expect(identities.count == 5)
    }

    @Test func `either half of a blood pressure tells it from another`() {
        let identities = [(118, 76), (118, 77), (119, 76)].map { systolic, diastolic in
            Sample(
                kind: .bloodPressure, start: sample.start, end: sample.end,
                value: .pressure(systolic: systolic, diastolic: diastolic)
            ).identity
        }

        #expect(Set(identities).count == 3)
    }
}
