import Glibc

/// Asks the kernel to tell when work waits too long (its Documentation/accounting/psi.rst).
enum PressureTrigger {
    /// The kernel measures in windows of so many microseconds. Processes without privilege may have
    /// multiples of two seconds only, since Linux 6.5, and no trigger at all before.
    private static let window = 2_000_000

    /// Why there is no trigger, for people.
    struct Fault: Error, Hashable, Sendable {
        var reason: String
    }

    /// A descriptor that signals EPOLLPRI, at most once a window, while some task waited for
    /// `resource` during more than `percent` of a window; a percentage outside of 1 to 100 is the
    /// nearest of those.
    ///
    /// - Parameters:
    ///   - resource: `cpu`, `memory` or `io`.
    ///   - folder: Where the kernel shows its pressure.
    /// - Throws: `Fault` where the kernel has no pressure or lets us have no trigger.
    static func open(
        _ resource: String, percent: Int, folder: String = "/proc/pressure"
    ) throws(Fault) -> Int32 {
        let path = "\(folder)/\(resource)"
        let file = Glibc.open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { throw Fault(reason: "\(path): \(String(cString: strerror(errno)))") }
        let text = trigger(percent)
        // The kernel takes it with its final zero.
        if text.withCString({ write(file, $0, text.utf8.count + 1) }) >= 0 { return file }
        let code = errno
        close(file)
        throw Fault(reason: "\(path): \(String(cString: strerror(code)))")
    }

    /// `some 200000 2000000` for 10.
    static func trigger(_ percent: Int) -> String {
        "some \(min(max(percent, 1), 100) * window / 100) \(window)"
    }
}
