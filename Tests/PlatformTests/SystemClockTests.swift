import ClarityScheduler
import Platform
import Glibc
import Testing

@Suite(.timeLimit(.minutes(5))) struct SystemClockTests {
    @Test func `now is the machine's time in milliseconds`() {
        let before = time(nil)
        let now = SystemClock().now
        let after = time(nil)

        #expect((before...after).contains(Int(now.secondsSince1970)))
    }

    @Test(arguments: [Duration.zero, .seconds(-5), .milliseconds(1)])
    func `a sleep takes at least its span`(_ span: Duration) async {
        let start = ContinuousClock.now

        await SystemClock().sleep(for: span)

        #expect(ContinuousClock.now - start >= span)
    }

    @Test(arguments: [Duration.seconds(3600), .seconds(Int64.max)])
    func `a cancelled sleep is over`(_ span: Duration) async {
        let sleeper = Task { await SystemClock().sleep(for: span) }

        sleeper.cancel()

        await sleeper.value
    }
}
