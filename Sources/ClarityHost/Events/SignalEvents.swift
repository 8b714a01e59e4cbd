import CLinux
import Glibc

/// The signals by which people and services speak to a program.
extension EventThread {
    /// An element whenever the process is sent signal `number`, which does nothing else from now on;
    /// several that come before the first is taken are one.
    ///
    /// Where the process has no descriptor left, the signal keeps its effect.
    public func signals(_ number: Int32) -> AsyncStream<Void> {
        elements(of: sources([number], endingAtSecond: false) { _ in })
    }

    /// What `heard` makes of the first SIGINT or SIGTERM that the process is sent; a second of either
    /// ends the process at once with 128 plus its number, even while this thread is busy.
    ///
    /// `heard` is called on the thread that listens. Where the process has no descriptor left, the
    /// signals keep their effect.
    public func termination<Element: Sendable>(
        _ heard: @escaping @Sendable (_ number: Int32) -> Element
    ) -> AsyncStream<Element> {
        elements(of: sources([SIGINT, SIGTERM], endingAtSecond: true, heard))
    }

    private func sources<Element>(
        _ numbers: [Int32], endingAtSecond: Bool,
        _ heard: @escaping @Sendable (Int32) -> Element
    ) -> [EventSource<Element>] {
        numbers.compactMap { number in
            let descriptor = clinux_announce_signal(number, endingAtSecond ? 1 : 0)
            guard descriptor >= 0 else { return nil }
            return .counter(descriptor) { _ in heard(number) }
        }
    }
}
