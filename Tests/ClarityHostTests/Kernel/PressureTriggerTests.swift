import ClarityTestSupport
import Glibc
import Synchronization
import Testing

@testable import ClarityHost

@Suite(.timeLimit(.minutes(1))) struct PressureTriggerTests {
    @Test(arguments: [
        (10, "some 200000 2000000"), (1, "some 20000 2000000"), (100, "some 2000000 2000000"),
        (0, "some 20000 2000000"), (-5, "some 20000 2000000"), (400, "some 2000000 2000000"),
    ])
    func `a threshold is a share of two seconds`(_ percent: Int, _ trigger: String) {
        #expect(PressureTrigger.trigger(percent) == trigger)
    }

    @Test func `a kernel without pressure has no trigger`() throws {
        let folder = try TemporaryFolder()

        #expect(
            throws: PressureTrigger.Fault(reason: "\(folder.path)/cpu: No such file or directory")
        ) { try PressureTrigger.open("cpu", percent: 10, folder: folder.path) }
    }

    @Test func `what tells of an error is gone, and is no news`() throws {
        // A pipe that nobody reads signals what a trigger does whose cgroup was removed (POLLERR).
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        defer { close(ends[1]) }
        let feed = KernelEvents.Feed(descriptor: ends[1], kind: .pressure)

        let before = KernelEvents.hasNews(feed)
        close(ends[0])
        // A program that another test starts just now has it open until it runs.
        var state = pollfd(fd: ends[1], events: 0, revents: 0)
        #expect(poll(&state, 1, 30_000) == 1)
        let after = KernelEvents.hasNews(feed)

        #expect(before)
        #expect(!after)
    }

    /// Whether this kernel measures pressure and lets us have triggers.
    static let reasonForNone: String? = {
        do throws(PressureTrigger.Fault) {
            close(try PressureTrigger.open("cpu", percent: 1))
            return nil
        } catch {
            return error.reason
        }
    }()

    @Test(.enabled(if: reasonForNone == nil, "the kernel gives no pressure trigger"))
    func `pressure is heard of without asking`() async throws {
        let trigger = try PressureTrigger.open("cpu", percent: 1)
        var elements = KernelEvents.stream(
            of: [.init(descriptor: trigger, kind: .pressure)],
            on: try #require(EventThread.shared)
        ).makeAsyncIterator()
        let crowd = Crowd()

        let element: Void? = await elements.next()

        crowd.disperse()
        #expect(element != nil)
    }

    /// More busy threads than processors, so that some of them wait.
    private final class Crowd: Sendable {
        private let isOver = Atomic(false)

        init() {
            for _ in 0..<(2 * sysconf(Int32(_SC_NPROCESSORS_ONLN)) + 2) {
                let code = DetachedThread.start { [self] in
                    while !isOver.load(ordering: .relaxed) {}
                }
                #expect(code == 0)
            }
        }

        func disperse() { isOver.store(true, ordering: .relaxed) }
    }
}
