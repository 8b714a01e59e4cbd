import ClarityTestSupport
import Glibc
import Platform
import Testing

@testable import ClarityHost

@Suite("The event thread", .timeLimit(.minutes(5)))
struct EventThreadTests {
    let events: EventThread

    init() throws { events = try #require(EventThread()) }

    /// Returns the current thread. A separate function, because a task must not call
    /// `pthread_self`.
    private static func thread() -> pthread_t { pthread_self() }

    /// Runs `body` on another thread, which then resumes the task.
    private static func elsewhere(_ body: @escaping @Sendable () -> Void = {}) async {
        do { try await AttemptThread.run(body) } catch { Issue.record("\(error)") }
    }

    @Test func `work runs on the calling thread and returns its result`() async throws {
        let (own, threads) = try await blocking { [events] in
            let threads = events.run {
                var threads = [Self.thread()]
                await Task.yield()
                threads.append(Self.thread())
                await Self.elsewhere()
                threads.append(Self.thread())
                await withTaskGroup(of: pthread_t.self) { group in
                    for _ in 0..<10 { group.addTask { Self.thread() } }
                    for await thread in group { threads.append(thread) }
                }
                return threads
            }
            return (Self.thread(), threads)
        }

        #expect(threads.count == 13)
        #expect(threads.allSatisfy { $0 == own })
    }

    @Test func `an error of the work is thrown to the caller`() async throws {
        struct Trouble: Error {}

        await #expect(throws: Trouble.self) {
            try await blocking { [events] in
                try events.run { () throws(Trouble) in
                    await Self.elsewhere()
                    throw Trouble()
                }
            }
        }
    }

    @Test func `a task that a call leaves behind goes on in the next call`() async throws {
        let journal = Journal<String>()

        try await blocking { [events] in
            let left = events.run {
                Task(executorPreference: events) {
                    await Task.yield()
                    journal.add("left")
                }
            }
            journal.add("between")
            events.run { await left.value }
        }

        #expect(journal.entries == ["between", "left"])
    }

    @Test func `what was cancelled with the work lets go of what it held`() async throws {
        final class Held: Sendable {}

        let isLeft = try await blocking { [events] in
            let box = events.run { () -> Weak in
                let held = Held()
                let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
                let task = Task(executorPreference: events) {
                    for await _ in stream { _ = held }
                    _ = (held, continuation)
                }
                await Task.yield()
                defer { task.cancel() }
                return Weak(held)
            }
            events.doReady()
            return box.object != nil
        }

        #expect(!isLeft)
    }

    @Test func `an event that arrives during a sleep is delivered`() async throws {
        let pipe = try TestPipe()

        let heard = try await blocking { [events] in
            events.run {
                let stream = events.elements(of: [pipe.source { $0 }])
                async let written: Void = Self.elsewhere { pipe.write("word") }
                var elements = stream.makeAsyncIterator()
                let heard = await elements.next()
                await written
                return heard
            }
        }

        #expect(heard == "word")
    }

    @Test func `unimportant events are dropped, and of several the last is kept`() async throws {
        let pipe = try TestPipe()

        let heard = try await blocking { [events] in
            events.run {
                let stream = events.elements(of: [pipe.source { $0 == "no" ? nil : $0 }])
                for word in ["first", "second", "no"] {
                    pipe.write(word)
                    // The event thread polls its sources after each round of tasks.
                    await Task.yield()
                }
                var elements = stream.makeAsyncIterator()
                return await elements.next()
            }
        }

        #expect(heard == "second")
    }

    @Test func `an event from before the listening is delivered`() async throws {
        let pipe = try TestPipe()
        pipe.write("early")

        let heard = try await blocking { [events] in
            events.run {
                var elements = events.elements(of: [pipe.source { $0 }]).makeAsyncIterator()
                return await elements.next()
            }
        }

        #expect(heard == "early")
    }

    @Test func `several sources are one stream`() async throws {
        let (left, right) = (try TestPipe(), try TestPipe())

        let heard = try await blocking { [events] in
            events.run {
                let stream = events.elements(of: [left.source { $0 }, right.source { $0 }])
                var elements = stream.makeAsyncIterator()
                left.write("left")
                let first = await elements.next()
                right.write("right")
                return [first, await elements.next()]
            }
        }

        #expect(heard == ["left", "right"])
    }

    @Test func `busy tasks do not keep the event thread from listening`() async throws {
        let pipe = try TestPipe()

        let heard = try await blocking { [events] in
            events.run {
                await withTaskGroup(of: String?.self) { group in
                    group.addTask {
                        while !Task.isCancelled { await Task.yield() }
                        return nil
                    }
                    group.addTask {
                        for await word in events.elements(of: [pipe.source { $0 }]) { return word }
                        return nil
                    }
                    pipe.write("heard")
                    let first = await group.next()
                    group.cancelAll()
                    return first ?? nil
                }
            }
        }

        #expect(heard == "heard")
    }

    @Test func `a descriptor is closed when its consumer ends`() async throws {
        let pipe = try TestPipe()

        let stages = try await blocking { [events] in
            events.run {
                var stages = [pipe.isReadEndClosed]
                let listening = Task(executorPreference: events) {
                    for await _ in events.elements(of: [pipe.source { $0 }]) {}
                }
                await Task.yield()
                stages.append(pipe.isReadEndClosed)
                listening.cancel()
                await listening.value
                return stages + [pipe.isReadEndClosedSoon]
            }
        }

        #expect(stages == [false, false, true])
    }

    @Test func `an event thread that goes closes what it listened to`() throws {
        let pipe = try TestPipe()
        var events = EventThread()
        let stream = events?.elements(of: [pipe.source { $0 }])

        let before = pipe.isReadEndClosed
        events = nil
        let after = pipe.isReadEndClosedSoon

        #expect(stream != nil && !before && after)
    }

    @Test func `the shared event thread serves callers without one of their own`() async throws {
        let pipe = try TestPipe()
        let events = try #require(EventThread.shared)
        var elements = events.elements(of: [pipe.source { $0 }]).makeAsyncIterator()

        pipe.write("word")
        let heard = await elements.next()

        #expect(heard == "word")
    }

    @Test func `a signal is an element, and does nothing else`() async throws {
        let heard = try await blocking { [events] in
            events.run {
                // The default action of SIGUSR2 ends the process.
                var signals = events.signals(SIGUSR2).makeAsyncIterator()
                kill(getpid(), SIGUSR2)
                return await signals.next() != nil
            }
        }

        #expect(heard)
    }
}

/// A weak reference to an object.
private final class Weak: @unchecked Sendable {
    private(set) weak var object: AnyObject?

    init(_ object: AnyObject) { self.object = object }
}
