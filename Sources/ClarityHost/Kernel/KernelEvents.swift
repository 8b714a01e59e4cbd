import CLinux
import Glibc

/// Turns the kernel's announcements into a stream of "something changed".
enum KernelEvents {
    /// One place that the kernel announces in.
    struct Feed: Sendable {
        /// An open socket or timer that does not block; the stream closes it.
        var descriptor: Int32
        /// Whether an announcement matters; sees its first 8 KiB.
        var matters: @Sendable (ArraySlice<UInt8>) -> Bool
    }

    /// A stream over the kernel's links, routes and power supplies and the steps of its wall clock;
    /// it ends with its consumer.
    ///
    /// A feed that cannot be opened stays silent.
    static func stream(on events: EventThread) -> AsyncStream<Void> {
        var feeds: [Feed] = []
        let routes = clinux_listen_routes()
        if routes >= 0 { feeds.append(Feed(descriptor: routes) { _ in true }) }
        let devices = clinux_listen_devices()
        if devices >= 0 { feeds.append(Feed(descriptor: devices, matters: isPowerSupply)) }
        if let wallClock { feeds.append(wallClock) }
        return stream(of: feeds, on: events)
    }

    static func stream(of feeds: [Feed], on events: EventThread) -> AsyncStream<Void> {
        events.elements(
            of: feeds.map { feed in
                EventSource(descriptor: feed.descriptor) { hasNews(feed) ? () : nil }
            })
    }

    /// A timer that never fires, and fails when the wall clock is set; `nil` where there is none.
    static var wallClock: Feed? {
        let timer = clinux_watch_wall_clock()
        return timer >= 0 ? Feed(descriptor: timer) { _ in true } : nil
    }

    /// Whether an announcement is about a power supply: `SUBSYSTEM=power_supply` is one of its
    /// fields, which end in zero bytes.
    static func isPowerSupply(_ announcement: ArraySlice<UInt8>) -> Bool {
        announcement.split(separator: 0).contains { field in
            field.elementsEqual("SUBSYSTEM=power_supply".utf8)
        }
    }

    /// Takes all that has been announced; whether any of it matters.
    static func hasNews(_ feed: Feed) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 8 << 10)
        var news = false
        while true {
            let count = read(feed.descriptor, &buffer, buffer.count)
            if count > 0 {
                if feed.matters(buffer[..<count]) { news = true }
            } else if count < 0, errno == EINTR {
                continue
            } else if count < 0, isNews(errno) {
                news = true
            } else {
                return news
            }
        }
    }

    /// Whether a failure to read tells of something.
    static func isNews(_ code: Int32) -> Bool {
        // The kernel dropped announcements, any of which may have mattered; or the wall clock was
        // set (timerfd_create(2)).
        code == ENOBUFS || code == ECANCELED
    }
}
