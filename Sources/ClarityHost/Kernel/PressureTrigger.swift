import Glibc

/// Asks the kernel to signal when tasks wait too long (its Documentation/accounting/psi.rst).
enum PressureTrigger {
    /// The kernel's measuring window in microseconds. Since Linux 6.5, unprivileged processes may
    /// use multiples of two seconds only; before, they cannot have a trigger.
    private static let window = 2_000_000

    /// Why there is no trigger, as text for the user.
    struct Fault: Error, Hashable, Sendable {
        var reason: String
    }

    /// Opens a trigger. The returned descriptor signals EPOLLPRI, at most once per window, while
    /// some task waited for `resource` during more than `percent` of a window. `percent` is clamped
    /// to 1 to 100.
    ///
    /// - Parameters:
    ///   - resource: `cpu`, `memory` or `io`.
    ///   - folder: The folder of the kernel's pressure files.
    /// - Throws: `Fault` if the kernel has no pressure information or grants no trigger.
    static func open(
        _ resource: String, percent: Int, folder: String = "/proc/pressure"
    ) throws(Fault) -> Int32 {
        let path = "\(folder)/\(resource)"
        let file = Glibc.open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { throw Fault(reason: "\(path): \(String(cString: strerror(errno)))") }
        let text = trigger(percent)
        // The kernel expects the text with its terminating zero byte.
        if text.withCString({ write(file, $0, text.utf8.count + 1) }) >= 0 { return file }
        let code = errno
        close(file)
        throw Fault(reason: "\(path): \(String(cString: strerror(code)))")
    }

    /// Returns the text that sets a trigger: `some 200000 2000000` for 10.
    static func trigger(_ percent: Int) -> String {
        "some \(min(max(percent, 1), 100) * window / 100) \(window)"
    }
}
