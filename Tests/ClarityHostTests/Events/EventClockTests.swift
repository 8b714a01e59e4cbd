import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import ClarityHost

@Suite("The event thread's clock", .timeLimit(.minutes(5)))
struct EventClockTests {
    let events: EventThread

    init() throws { events = try #require(EventThread()) }

    @Test(arguments: [
        Duration.zero, .seconds(-5), .nanoseconds(1), Duration(attoseconds: 1), .milliseconds(1),
    ])
    func `a sleep takes at least its span`(_ span: Duration) async throws {
        let passed = try await blocking { [events] in
            events.run {
                let clock = EventClock(events)
                let start = clock.elapsed
                await clock.sleep(for: span)
                return clock.elapsed - start
            }
        }

        #expect(passed >= span)
    }

    @Test(arguments: [Duration.seconds(3600), .seconds(Int64.max)])
    func `a cancelled sleep is over`(_ span: Duration) async throws {
        try await blocking { [events] in
            events.run {
                let sleeper = Task(executorPreference: events) {
                    await EventClock(events).sleep(for: span)
                }
                await Task.yield()
                sleeper.cancel()
                await sleeper.value
            }
        }
    }
}
