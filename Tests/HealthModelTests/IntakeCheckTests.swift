import Testing

@testable import HealthModel
@testable import ClarityScheduler

private let noon = Instant(secondsSince1970: 1_760_000_000)

@Suite struct IntakeCheckTests {
    private func refusal(_ sample: Sample) -> IntakeCheck.Refusal? {
        do throws(IntakeCheck.Refusal) {
            _ = try IntakeCheck.accepted(sample, at: noon)
            return nil
        } catch {
            return error
        }
    }

    private func heartRate(
        _ start: Int64 = -3600, _ length: Int64 = 0, _ value: Double = 60
    ) -> Sample {
        let start = noon + .seconds(start)
        return Sample(
            kind: .heartRate, start: start, end: start + .seconds(length), value: .single(value))
    }

    @Test(
        arguments: [
            (0, 0, nil), (-1, -1, .endBeforeStart), (0, -1, .endBeforeStart), (86_400, 0, nil),
            (86_401, 0, .inFuture), (-400 * 86_400, 366 * 86_400, nil),
            (-400 * 86_400, 366 * 86_400 + 1, .tooLong),
        ] as [(Int64, Int64, IntakeCheck.Refusal?)])
    func `times that cannot be are refused`(
        start: Int64, length: Int64, wanted: IntakeCheck.Refusal?
    ) {
        #expect(refusal(heartRate(start, length)) == wanted)
    }

    @Test(
        arguments: [
            (0, .impossible), (1, nil), (25, nil), (500, nil), (500.5, .impossible),
            (-3, .impossible),
            (.infinity, .notFinite), (.nan, .notFinite),
        ] as [(Double, IntakeCheck.Refusal?)])
    func `numbers that cannot be are refused, and unusual ones are not`(
        value: Double, wanted: IntakeCheck.Refusal?
    ) {
        #expect(refusal(heartRate(0, 0, value)) == wanted)
    }

    @Test func `both halves of a blood pressure and a night are held to their ranges`() {
        func of(_ kind: SampleKind, _ value: Sample.Value) -> IntakeCheck.Refusal? {
            refusal(Sample(kind: kind, start: noon, end: noon, value: value))
        }

        #expect(of(.bloodPressure, .pressure(systolic: 120, diastolic: 80)) == nil)
        #expect(of(.bloodPressure, .pressure(systolic: 120, diastolic: 0)) == .impossible)
        #expect(of(.bloodPressure, .pressure(systolic: 501, diastolic: 80)) == .impossible)
        func night(_ minutes: Int, _ efficiency: Double) -> Sample.Value {
            .sleep(SleepNight(totalMinutes: minutes, efficiency: efficiency))
        }
        #expect(of(.sleep, night(420, 0.9)) == nil)
        #expect(of(.sleep, night(2881, 0.9)) == .impossible)
        #expect(of(.sleep, night(420, 1.1)) == .impossible)
        #expect(of(.sleep, night(420, .nan)) == .notFinite)
    }

    @Test func `one odd value costs a day no other`() throws {
        var day = ActivityDay()
        day.steps = 1e12
        var whole = Sample(kind: .activity, start: noon, end: noon, value: .activity(day))
        let alone = refusal(whole)
        day.distance = 5
        whole.value = .activity(day)

        let accepted = try IntakeCheck.accepted(whole, at: noon)

        var left = ActivityDay()
        left.distance = 5
        #expect(alone == .impossible)
        #expect(accepted.value == .activity(left))
    }
}
