import ClarityScheduler
import Testing

@testable import ClarityHost

@Suite("What counts as a change in a trace")
struct TraceStepsTests {
    private static let mebibyte: Int64 = 1 << 20

    @Test(
        arguments: [
            (nil, 3 * mebibyte + 7, 3 * mebibyte), (1000 * mebibyte, 951 * mebibyte, nil),
            (1000 * mebibyte, 950 * mebibyte, 950 * mebibyte), (1000 * mebibyte, nil, nil),
            (1000 * mebibyte, 1049 * mebibyte, nil), (2 * mebibyte, 3 * mebibyte - 1, nil),
            (1000 * mebibyte, 1050 * mebibyte + 1, 1050 * mebibyte),
            (2 * mebibyte, 3 * mebibyte, 3 * mebibyte), (0, mebibyte, mebibyte),
            (0, mebibyte - 1, nil),
        ] as [(Int64?, Int64?, Int64?)])
    func `free storage counts by whole MiB and from 5 percent on`(
        before: Int64?, now: Int64?, counted: Int64?
    ) {
        let earlier = Conditions(storageFreeBytes: .init(before, source: "before"))
        let conditions = Conditions(storageFreeBytes: .init(now, source: "now"))

        let result = conditions.inSteps(from: earlier).storageFreeBytes

        let isKept = counted == nil && now != nil
        #expect(result == (isKept ? earlier.storageFreeBytes : .init(counted, source: "now")))
    }

    @Test(
        arguments: [
            (0, 9, 0), (0, 10, 10), (50, 41, 50), (50, 40, 40), (50, nil, nil), (nil, 1, 1),
        ] as [(Int?, Int?, Int?)])
    func `pressure counts from 10 points on`(before: Int?, now: Int?, counted: Int?) {
        let earlier = Conditions(pressurePercent: .init(before, source: "p"))

        let result = Conditions(pressurePercent: .init(now, source: "p")).inSteps(from: earlier)

        #expect(result.pressurePercent.value == counted)
    }

    @Test func `everything else counts as it is, and the first look whole`() {
        let earlier = Conditions(battery: .init(.charge(percent: 80), source: "b"))
        let now = Conditions(
            battery: .init(.charge(percent: 79), source: "b"),
            pressurePercent: .init(3, source: "p"))

        #expect(now.inSteps(from: earlier) == now)
        #expect(now.inSteps(from: nil) == now)
    }
}
