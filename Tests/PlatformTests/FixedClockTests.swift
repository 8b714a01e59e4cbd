import ClarityScheduler
import Platform
import Testing

@Suite(.timeLimit(.minutes(5))) struct FixedClockTests {
    @Test func `the wall stands still and elapsed time goes on`() async {
        let clock = FixedClock(Instant(secondsSince1970: 7))
        let before = clock.elapsed

        await clock.sleep(for: .milliseconds(1))

        #expect(clock.now == Instant(secondsSince1970: 7))
        #expect(clock.elapsed >= before + .milliseconds(1))
    }
}
