import CLinux
import Dispatch
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
    static func stream() -> AsyncStream<Void> {
        var feeds: [Feed] = []
        let routes = clinux_listen_routes()
        if routes >= 0 { feeds.append(Feed(descriptor: routes) { _ in true }) }
        let devices = clinux_listen_devices()
        if devices >= 0 { feeds.append(Feed(descriptor: devices, matters: isPowerSupply)) }
        if let wallClock { feeds.append(wallClock) }
        return stream(of: feeds)
    }

    static func stream(of feeds: [Feed]) -> AsyncStream<Void> {
        // One element stands for any number of changes that nobody has looked at yet.
        let (stream, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let queue = DispatchQueue(label: "clarity.kernel-events")
        let sources = feeds.map { feed in
            let source = DispatchSource.makeReadSource(
                fileDescriptor: feed.descriptor, queue: queue)
            source.setEventHandler { @Sendable in
                if hasNews(feed) { continuation.yield() }
            }
            source.setCancelHandler { @Sendable in close(feed.descriptor) }
            return source
        }
        let group = Sources(sources)
        continuation.onTermination = { @Sendable _ in group.cancel() }
        group.resume()
        return stream
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

    /// The sources of one stream.
    ///
    /// `@unchecked`: a dispatch source may be resumed and cancelled from any thread, the array
    /// never changes, and the overlay merely does not say so.
    private struct Sources: @unchecked Sendable {
        private let all: [any DispatchSourceRead]

        init(_ all: [any DispatchSourceRead]) { self.all = all }

        func resume() { for source in all { source.resume() } }
        func cancel() { for source in all { source.cancel() } }
    }
}
