@testable import ClarityHost
import Platform
import ClarityTestSupport
import Glibc

import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct PressureTriggerTests {
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
            throws: HostTree.Fault(
                path: "\(folder.path)/cpu", reason: "No such file or directory")
        ) { try PressureTrigger.open("cpu", percent: 10, folder: folder.path) }
    }

    /// Why this kernel gives no pressure triggers, or `nil` if it does.
    static let reasonForNone: String? = {
        do throws(HostTree.Fault) {
            close(try PressureTrigger.open("cpu", percent: 1))
            return nil
        } catch {
            return error.text
        }
    }()

    @Test(.enabled(if: reasonForNone == nil, "the kernel gives no pressure trigger"))
    func `pressure is heard of without asking`() async throws {
        let watch = PressureWatch()
        let events = try #require(EventThread.shared)
        var elements = events.elements(of: watch.sources()).makeAsyncIterator()
        watch.listen(above: 1)
        let crowd = Crowd()

        let element: Void? = await elements.next()
        watch.listen(above: nil)
        watch.listen(above: 1)
        let again: Void? = await elements.next()

        crowd.disperse()
        #expect(element != nil)
        #expect(again != nil)
    }

    @Test func `nobody hears of pressure who does not listen for it`() throws {
        let watch = PressureWatch()
        let source = try #require(watch.sources().first)
        defer { close(source.descriptor) }

        watch.listen(above: 1)
        watch.listen(above: nil)

        #expect(source.take() == nil)
    }

    @Test func `a new limit replaces the former one while it is listened for`() throws {
        let watch = PressureWatch()
        let source = try #require(watch.sources().first)
        defer { close(source.descriptor) }

        watch.listen(above: 50)
        watch.listen(above: 20)

        #expect(watch.percent == 20)
    }

    /// Runs more busy threads than there are processors, so that some of them wait.
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
