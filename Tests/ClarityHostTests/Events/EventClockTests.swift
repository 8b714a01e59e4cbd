import ClarityScheduler
import ClarityTestSupport
import Synchronization
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

    @Test(arguments: [Duration.nanoseconds(1), .milliseconds(1), .milliseconds(20)])
    func `an alarm without a descriptor takes at least its span`(_ span: Duration) async throws {
        let passed = try await blocking { [events] in
            events.run {
                let clock = EventClock(events)
                let start = clock.elapsed
                for await _ in events.alarm(after: span) {}
                return clock.elapsed - start
            }
        }

        #expect(passed >= span)
    }

    @Test func `an alarm ends with whoever waits for it`() async throws {
        try await blocking { [events] in
            events.run {
                let sleeper = Task(executorPreference: events) {
                    for await _ in events.alarm(after: .seconds(3600)) {}
                }
                await Task.yield()
                sleeper.cancel()
                await sleeper.value
            }
        }
    }

    @Test func `alarms ring in their time, each once`() {
        let start = ContinuousClock.now
        var alarms = Alarms()
        let rung = Mutex<[Int]>([])
        #expect(alarms.patience(at: start) == -1)
        _ = alarms.add(due: start + .nanoseconds(1)) { rung.withLock { $0.append(1) } }
        let other = alarms.add(due: start + .milliseconds(1)) { rung.withLock { $0.append(2) } }
        _ = alarms.add(due: start + .seconds(3600)) { rung.withLock { $0.append(3) } }

        #expect(alarms.takeDue(at: start).isEmpty)
        #expect(alarms.patience(at: start) == 1)
        alarms.takeDue(at: start + .microseconds(1)).forEach { $0() }
        alarms.remove(other)
        alarms.takeDue(at: start + .seconds(1)).forEach { $0() }

        #expect(rung.withLock { $0 } == [1])
        #expect(alarms.patience(at: start + .seconds(1)) == 60_000)
        #expect(alarms.patience(at: start + .seconds(3599)) == 1000)
        #expect(alarms.patience(at: start + .seconds(3601)) == 0)
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
