import ClarityScheduler
import CLinux
import Platform
import Glibc
import Synchronization

/// Announces that pressure rises.
///
/// A trigger fires every two seconds while the machine is busy. So there are triggers only while an
/// attempt runs that may have to stop for pressure. A waiting run needs none: it waits for a fall,
/// which nothing announces.
final class PressureWatch: Sendable {
    private struct State {
        /// An epoll(7) descriptor that watches the triggers; -1 until the first call of `sources`.
        var poll: Int32 = -1
        var triggers: [Int32] = []
        /// The pressure that the triggers announce; `nil` if there are none.
        var percent: Int?
    }

    private let state = Mutex(State())

    deinit {
        state.withLock { state in
            for descriptor in state.triggers + [state.poll] where descriptor >= 0 {
                close(descriptor)
            }
        }
    }

    /// Returns the source that announces a rise; empty if the process is out of descriptors.
    func sources() -> [EventSource<Void>] {
        let (poll, listener) = state.withLock { state in
            if state.poll < 0 { state.poll = clinux_poll() }
            return (state.poll, state.poll < 0 ? -1 : fcntl(state.poll, F_DUPFD_CLOEXEC, 0))
        }
        guard listener >= 0 else { return [] }
        return [
            EventSource(descriptor: listener) {
                var ready = [Int32](repeating: -1, count: Int(CLINUX_MOST_READY))
                return clinux_poll_wait(poll, &ready, 0) > 0 ? () : nil
            }
        ]
    }

    /// The pressure that is announced, in percent; `nil` for none.
    var percent: Int? { state.withLock { $0.percent } }

    /// Listens for pressure above `percent` from now on; `nil` stops it. Has no effect before the
    /// first call of `sources`. Resources for which the kernel grants no trigger stay silent.
    func listen(above percent: Int?) {
        state.withLock { state in
            guard state.poll >= 0, percent != state.percent else { return }
            state.triggers.forEach { close($0) }
            state.triggers = []
            state.percent = percent
            guard let percent else { return }
            for resource in PressureProbe.resources {
                do throws(HostTree.Fault) {
                    let trigger = try PressureTrigger.open(resource, percent: percent)
                    state.triggers.append(trigger)
                    _ = clinux_poll_add(state.poll, trigger, 1)
                } catch {
                    // `states` reports this fault.
                    continue
                }
            }
        }
    }

    /// Returns for each resource whether a rise can be announced.
    static func states(above percent: Int) -> [ChangeSubscription] {
        PressureProbe.resources.map { resource in
            let subject = "pressure on \(resource)"
            do throws(HostTree.Fault) {
                close(try PressureTrigger.open(resource, percent: percent))
                return ChangeSubscription(subject: subject)
            } catch {
                return ChangeSubscription(subject: subject, fault: error.text)
            }
        }
    }
}

/// Asks the kernel to signal when tasks wait too long (its Documentation/accounting/psi.rst).
enum PressureTrigger {
    /// The kernel's measuring window in microseconds. Since Linux 6.5, unprivileged processes may
    /// use multiples of two seconds only; before, they cannot have a trigger.
    private static let window = 2_000_000

    /// Opens a trigger. The returned descriptor signals EPOLLPRI, at most once per window, while
    /// some task waited for `resource` during more than `percent` of a window. `percent` is clamped
    /// to 1 to 100.
    ///
    /// - Parameters:
    ///   - resource: `cpu`, `memory` or `io`.
    ///   - folder: The folder of the kernel's pressure files.
    /// - Throws: `HostTree.Fault` if the kernel has no pressure information or grants no trigger.
    static func open(
        _ resource: String, percent: Int, folder: String = "/proc/pressure"
    ) throws(HostTree.Fault) -> Int32 {
        let path = "\(folder)/\(resource)"
        let file = Glibc.open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else {
            throw HostTree.Fault(path: path, reason: SystemError().text)
        }
        let text = trigger(percent)
        // The kernel expects the text with its terminating zero byte.
        if text.withCString({ write(file, $0, text.utf8.count + 1) }) >= 0 { return file }
        let code = errno
        close(file)
        throw HostTree.Fault(path: path, reason: SystemError(code: code).text)
    }

    /// Returns the text that sets a trigger: `some 200000 2000000` for 10.
    static func trigger(_ percent: Int) -> String {
        "some \(min(max(percent, 1), 100) * window / 100) \(window)"
    }
}

/// Reads from the kernel's pressure stall information how much of the time tasks wait.
struct PressureProbe {
    static let resources = ["cpu", "memory", "io"]

    let tree: HostTree

    /// The share of the last ten seconds in which some task waited, in percent, rounded down: the
    /// largest of those for the processor, memory and disk. A trigger announces a rise; nothing
    /// announces a fall.
    var pressurePercent: Conditions.Reading<Int> {
        var highest = Conditions.Reading<Int>(nil, source: "")
        for resource in PressureProbe.resources {
            let path = "/proc/pressure/\(resource)"
            do throws(HostTree.Fault) {
                guard let percent = PressureProbe.someShare(try tree.text(path)) else {
                    throw HostTree.Fault(path: path, reason: "not a pressure")
                }
                if percent >= highest.value ?? 0 {
                    highest = Conditions.Reading(percent, source: path, isSampled: true)
                }
            } catch {
                return .sampledUnknown(error.text)
            }
        }
        return highest
    }

    /// Parses `avg10` of the line `some` and returns it in whole percent, 0 to 100; `nil` for any
    /// other text.
    static func someShare(_ text: String) -> Int? {
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count >= 2, fields[0] == "some", fields[1].hasPrefix("avg10=") else {
                continue
            }
            let parts = fields[1].dropFirst("avg10=".count).split(
                separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 2, let percent = UInt8(parts[0]), UInt8(parts[1]) != nil,
                percent <= 100
            else { return nil }
            return Int(percent)
        }
        return nil
    }
}

/// Reads the load of the processors, which decides whether a machine is idle when nobody is logged
/// in.
struct LoadProbe {
    /// The load below which a machine is idle, in percent, unless the job file sets another.
    static let idleBelow = 25

    private static let average = "/proc/loadavg"
    private static let online = "/sys/devices/system/cpu/online"

    let tree: HostTree

    /// Returns whether the load is below `percent`. The source names both:
    /// `load of 12% of 2 processors is below 25%`.
    func idle(below percent: Int = LoadProbe.idleBelow) -> Conditions.Reading<Bool> {
        do throws(HostTree.Fault) {
            guard let hundredths = LoadProbe.hundredths(try tree.text(LoadProbe.average)) else {
                throw HostTree.Fault(path: LoadProbe.average, reason: "not a load")
            }
            guard let processors = LoadProbe.count(try tree.text(LoadProbe.online)) else {
                throw HostTree.Fault(path: LoadProbe.online, reason: "not a list of processors")
            }
            let load = hundredths / processors
            let word = load < percent ? "is below" : "is not below"
            let noun = counted(processors, "processors")
            return Conditions.Reading(
                load < percent, source: "load of \(load)% of \(noun) \(word) \(percent)%",
                isSampled: true)
        } catch {
            return .sampledUnknown(error.text)
        }
    }

    /// Parses the first average, 0.00 to 999999.99, and returns it in hundredths:
    /// 20 for `0.20 0.18 0.12 1/80 11206`. Returns `nil` for any other text.
    static func hundredths(_ text: String) -> Int? {
        guard let average = text.split(separator: " ").first else { return nil }
        let parts = average.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...6).contains(parts[0].utf8.count), parts[1].utf8.count == 2,
            parts.joined().utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int(parts.joined())
    }

    /// Returns how many processors a list names: 5 for `0-3,6`.
    static func count(_ list: String) -> Int? {
        var count = 0
        var next = 0
        for range in list.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = range.split(separator: "-", omittingEmptySubsequences: false)
            guard (1...2).contains(ends.count), let first = UInt16(ends[0]),
                let last = UInt16(ends[ends.count - 1]), next <= first, first <= last
            else { return nil }
            count += Int(last - first) + 1
            next = Int(last) + 1
        }
        return count
    }
}
