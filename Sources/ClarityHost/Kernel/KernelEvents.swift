import CLinux
import Platform
import Glibc

/// Whether changes of a subject are announced to this process.
public struct ChangeSubscription: Hashable, Sendable {
    /// `power supplies`, `UPower`.
    public var subject: String
    /// Why they are not announced, as `Address family not supported by protocol`; `nil` if they
    /// are.
    public var fault: String?
}

/// Turns the kernel's announcements into a stream of "something changed".
enum KernelEvents {
    /// A descriptor through which the kernel announces changes.
    struct Feed: Sendable {
        enum Kind: Sendable {
            /// A netlink socket. `matters` decides about each announcement; one of more than 8 KiB
            /// always matters.
            case netlink(matters: @Sendable (ArraySlice<UInt8>) -> Bool)
            /// A timer that never fires. Reading it fails when the wall clock is set.
            case wallClock
        }

        /// Open and non-blocking. The stream closes it.
        var descriptor: Int32
        var kind: Kind
    }

    /// Opens the sources that have an element when links, routes, power supplies or power profiles
    /// change, or when the wall clock is set.
    ///
    /// A feed that cannot be opened has no source.
    static func sources() -> [EventSource<Void>] { open().compactMap(\.feed).map(source) }

    /// Opens the source that announces steps of the wall clock; empty if the kernel does not
    /// support it.
    static func clockSources() -> [EventSource<Void>] {
        let descriptor = clinux_watch_wall_clock()
        return descriptor < 0 ? [] : [source(Feed(descriptor: descriptor, kind: .wallClock))]
    }

    static func source(_ feed: Feed) -> EventSource<Void> {
        EventSource(descriptor: feed.descriptor) { hasNews(feed) ? () : nil }
    }

    /// Returns for each subject whether a stream that is opened now can listen to it.
    static func states() -> [ChangeSubscription] {
        let opened = open()
        opened.compactMap(\.feed).forEach { close($0.descriptor) }
        return opened.map(\.state)
    }

    // MARK: Opening

    private static func open() -> [(state: ChangeSubscription, feed: Feed?)] {
        func opened(
            _ subject: String, _ descriptor: Int32, _ kind: Feed.Kind
        ) -> (state: ChangeSubscription, feed: Feed?) {
            let fault = descriptor < 0 ? SystemError().text : nil
            return (
                ChangeSubscription(subject: subject, fault: fault),
                descriptor < 0 ? nil : Feed(descriptor: descriptor, kind: kind)
            )
        }
        return [
            opened(
                "links and routes", clinux_listen_routes(), .netlink(matters: RouteNews.matters)),
            opened("power supplies", clinux_listen_devices(), .netlink(matters: isPowerSupply)),
            opened("steps of the wall clock", clinux_watch_wall_clock(), .wallClock),
        ]
    }

    // MARK: Reading

    /// Returns whether an announcement is about a power supply or a power profile. Such an
    /// announcement has the field `SUBSYSTEM=power_supply` or `SUBSYSTEM=platform-profile`. Fields
    /// end with a zero byte.
    static func isPowerSupply(_ announcement: ArraySlice<UInt8>) -> Bool {
        announcement.split(separator: 0).contains { field in
            field.elementsEqual("SUBSYSTEM=power_supply".utf8)
                || field.elementsEqual("SUBSYSTEM=platform-profile".utf8)
        }
    }

    /// Reads all pending announcements, and returns whether any of them matters.
    static func hasNews(_ feed: Feed) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 8 << 10)
        var news = false
        while true {
            var sender: UInt32 = 0
            let count: Int
            switch feed.kind {
            case .netlink:
                count = clinux_receive(feed.descriptor, &buffer, UInt(buffer.count), &sender)
            case .wallClock: count = read(feed.descriptor, &buffer, buffer.count)
            }
            guard count > 0 else {
                let code = count < 0 ? errno : 0
                if code == EINTR { continue }
                guard isNews(code) else { return news }
                news = true
                continue
            }
            switch feed.kind {
            // Only the kernel has port 0 (netlink(7)). Privileged processes can send to this socket
            // as well.
            case .netlink(let matters): news = news || sender == 0 && matters(buffer[..<count])
            case .wallClock: news = true
            }
        }
    }

    /// Returns whether a failed read means that something may have changed.
    static func isNews(_ code: Int32) -> Bool {
        // The kernel dropped announcements or one was too long, and any of them may have mattered;
        // or the wall clock was set (timerfd_create(2)).
        code == ENOBUFS || code == EMSGSIZE || code == ECANCELED
    }
}

extension EventThread {
    /// Returns a stream with an element whenever the wall clock is set, by a person or by a service
    /// that corrects it in one step. Steps that come before an element is taken are one element.
    /// Gradual corrections, which make the clock run faster or slower for a while, do not count.
    ///
    /// If the kernel does not announce steps, the stream stays silent.
    public func clockChanges() -> AsyncStream<Void> { elements(of: KernelEvents.clockSources()) }
}
