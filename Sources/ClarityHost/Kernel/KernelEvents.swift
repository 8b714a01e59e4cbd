import CLinux
import Glibc

/// Turns the kernel's announcements into a stream of "something changed".
enum KernelEvents {
    /// One place that the kernel announces in.
    struct Feed: Sendable {
        enum Kind: Sendable {
            /// A socket; whether an announcement matters, of which the first 8 KiB are seen.
            case netlink(matters: @Sendable (ArraySlice<UInt8>) -> Bool)
            /// A timer that never fires, and fails when the wall clock is set.
            case wallClock
        }

        /// Open, and does not block; the stream closes it.
        var descriptor: Int32
        var kind: Kind
    }

    /// Whether the kernel lets us hear of something.
    struct Standing: Hashable, Sendable {
        /// `power supplies`
        var subject: String
        /// Why nothing is heard of it: `Address family not supported by protocol`.
        var fault: String?
    }

    /// A stream over the kernel's links, routes and power supplies and the steps of its wall clock;
    /// it ends with its consumer.
    ///
    /// A feed that cannot be opened stays silent.
    static func stream(on events: EventThread) -> AsyncStream<Void> {
        events.elements(of: sources())
    }

    /// What that stream listens to.
    static func sources() -> [EventSource<Void>] { open().compactMap(\.feed).map(source) }

    static func stream(of feeds: [Feed], on events: EventThread) -> AsyncStream<Void> {
        events.elements(of: feeds.map(source))
    }

    /// What tells of steps of the wall clock alone; nothing where the kernel does not.
    static func clockSources() -> [EventSource<Void>] {
        let descriptor = clinux_watch_wall_clock()
        return descriptor < 0 ? [] : [source(Feed(descriptor: descriptor, kind: .wallClock))]
    }

    private static func source(_ feed: Feed) -> EventSource<Void> {
        EventSource(descriptor: feed.descriptor) { hasNews(feed) ? () : nil }
    }

    /// What a stream opened now would hear of, and what it would not.
    static func standings() -> [Standing] {
        let opened = open()
        opened.compactMap(\.feed).forEach { close($0.descriptor) }
        return opened.map(\.standing)
    }

    // MARK: Opening

    private static func open() -> [(standing: Standing, feed: Feed?)] {
        func opened(
            _ subject: String, _ descriptor: Int32, _ kind: Feed.Kind
        ) -> (standing: Standing, feed: Feed?) {
            guard descriptor < 0 else {
                return (Standing(subject: subject), Feed(descriptor: descriptor, kind: kind))
            }
            return (Standing(subject: subject, fault: String(cString: strerror(errno))), nil)
        }
        return [
            opened(
                "links and routes", clinux_listen_routes(), .netlink(matters: RouteNews.matters)),
            opened("power supplies", clinux_listen_devices(), .netlink(matters: isPowerSupply)),
            opened("steps of the wall clock", clinux_watch_wall_clock(), .wallClock),
        ]
    }

    // MARK: Reading

    /// Whether an announcement is about a power supply or a power profile:
    /// `SUBSYSTEM=power_supply` is one of its fields, which end in zero bytes.
    static func isPowerSupply(_ announcement: ArraySlice<UInt8>) -> Bool {
        announcement.split(separator: 0).contains { field in
            field.elementsEqual("SUBSYSTEM=power_supply".utf8)
                || field.elementsEqual("SUBSYSTEM=platform-profile".utf8)
        }
    }

    /// Takes all that has been announced; whether any of it matters.
    static func hasNews(_ feed: Feed) -> Bool {
        switch feed.kind {
        case .netlink(let matters):
            return drain { buffer in
                var sender: UInt32 = 0
                let count = clinux_receive(feed.descriptor, &buffer, UInt(buffer.count), &sender)
                guard count > 0 else { return .nothing(count < 0 ? errno : 0) }
                // Only the kernel has port 0 (netlink(7)); other processes may send here as well, with
                // a privilege.
                return .taken(sender == 0 && matters(buffer[..<count]))
            }
        case .wallClock:
            return drain { buffer in
                let count = read(feed.descriptor, &buffer, buffer.count)
                return count > 0 ? .taken(true) : .nothing(count < 0 ? errno : 0)
            }
        }
    }

    private enum Arrival {
        /// Something, and whether it matters.
        case taken(Bool)
        /// Nothing, and the number of the error.
        case nothing(Int32)
    }

    /// Takes until there is no more; whether any of it matters.
    private static func drain(_ take: (inout [UInt8]) -> Arrival) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 8 << 10)
        var news = false
        while true {
            switch take(&buffer) {
            case .taken(let matters): news = news || matters
            case .nothing(EINTR): continue
            case .nothing(let code):
                guard isNews(code) else { return news }
                news = true
            }
        }
    }

    /// Whether a failure to read tells of something.
    static func isNews(_ code: Int32) -> Bool {
        // The kernel dropped announcements, or one was too long, any of which may have mattered; or the
        // wall clock was set (timerfd_create(2)).
        code == ENOBUFS || code == EMSGSIZE || code == ECANCELED
    }
}

extension EventThread {
    /// An element whenever the machine's wall clock is set, by a person or by a service that corrects
    /// it at once; several that come before one is taken are one. Small corrections by which the
    /// clock runs faster or slower for a while are none.
    ///
    /// Where the kernel does not tell of it, the stream stays silent.
    public func clockChanges() -> AsyncStream<Void> { elements(of: KernelEvents.clockSources()) }
}
