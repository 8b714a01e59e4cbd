import ClarityTestSupport
import Glibc
import Testing

@testable import Backend
@testable import BackendContract

@Suite(.timeLimit(.minutes(5)))
struct CurlExecutorTests {
    @Test func `a task that prefers the transport's thread sends without leaving it`() async throws
    {
        let server = try ScriptedServer([.answer(200, "1"), .answer(200, "2")])
        let transport = try CurlTransport(version: "1")

        let (threads, bodies) = try await withTaskExecutorPreference(transport.executor) {
            var (threads, bodies) = ([pthread_self()], [[UInt8]]())
            for _ in 0..<2 {
                bodies.append(try await transport.send(HTTPRequest(.get, server.url)).body)
                threads.append(pthread_self())
            }
            return (threads, bodies)
        }

        #expect(Set(threads).count == 1)
        #expect(bodies == [Array("1".utf8), Array("2".utf8)])
    }

    @Test func `a request of another task is not held up by one that waits there`() async throws {
        let server = try ScriptedServer([.answer(200, "1"), .answer(200, "2")])
        let transport = try CurlTransport(version: "1")

        let statuses = try await withTaskExecutorPreference(transport.executor) {
            // A detached task does not inherit the preference, and sends from a thread of the pool.
            let other = Task.detached { try await transport.send(HTTPRequest(.get, server.url)) }
            let own = try await transport.send(HTTPRequest(.get, server.url))
            return [own.status, try await other.value.status]
        }

        #expect(statuses == [200, 200])
    }

    @Test func `a cancelled task there hears of it`() async throws {
        let server = try ScriptedServer([.silence])
        let transport = try CurlTransport(version: "1")

        var events = server.events.makeAsyncIterator()
        let task = Task(executorPreference: transport.executor) {
            do throws(TransportError) {
                _ = try await transport.send(HTTPRequest(.get, server.url))
                return nil as TransportError?
            } catch {
                return error
            }
        }

        #expect(await events.next() == .connected(1))
        _ = await events.next()
        task.cancel()

        #expect(await task.value == .cancelled)
    }

    /// A task may keep the preference for longer than the transport lives.
    @Test func `the work of a task whose transport is gone is done elsewhere`() async throws {
        let executor = try CurlTransport(version: "1").executor

        let sum = await withTaskExecutorPreference(executor) {
            await withTaskGroup { group in
                for number in 1...100 { group.addTask { number } }
                return await group.reduce(0, +)
            }
        }

        #expect(sum == 5050)
    }
}
