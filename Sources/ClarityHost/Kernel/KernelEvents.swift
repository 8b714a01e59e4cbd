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

/// A message of a netlink(7) datagram.
struct NetlinkMessage {
    /// Why bytes are not a valid answer of the kernel.
    enum Fault: Error, Hashable, Sendable {
        /// The kernel refused the request, with an error number.
        case refused(Int32)
        /// The data changed while the kernel sent it, so some of it may be missing or duplicate.
        case interrupted
        /// The answer ends without NLMSG_DONE.
        case cutShort
        /// The bytes cannot be parsed, with a description: `a message of 3 bytes`.
        case malformed(String)
    }

    var type: UInt16
    var flags: UInt16
    var payload: ArraySlice<UInt8>

    /// Parses consecutive messages. Each starts at a multiple of four bytes.
    static func all(in bytes: ArraySlice<UInt8>) throws(Fault) -> [NetlinkMessage] {
        var messages: [NetlinkMessage] = []
        var rest = bytes
        let headerSize = 16
        while !rest.isEmpty {
            guard let length = rest.number(at: 0, as: UInt32.self),
                let type = rest.number(at: 4, as: UInt16.self),
                let flags = rest.number(at: 6, as: UInt16.self), rest.count >= headerSize
            else { throw .malformed("\(rest.count) bytes after the last message") }
            guard length >= headerSize, length <= rest.count else {
                throw .malformed("a message of \(length) bytes, with \(rest.count) left")
            }
            messages.append(
                NetlinkMessage(
                    type: type, flags: flags,
                    payload: rest.prefix(Int(length)).dropFirst(headerSize)))
            rest = rest.dropFirst(Int(length).alignedToFour)
        }
        return messages
    }
}

/// The answer to a request for everything (NLM_F_DUMP): many messages, then NLMSG_DONE.
enum NetlinkDump {
    private static let error: UInt16 = 2
    private static let done: UInt16 = 3
    private static let overrun: UInt16 = 4
    private static let isInterrupted: UInt16 = 0x10

    /// Returns the payloads of the messages of one type in a complete dump. Messages of other types
    /// are dropped.
    static func payloads(
        of type: UInt16, in bytes: [UInt8]
    ) throws(NetlinkMessage.Fault) -> [ArraySlice<UInt8>] {
        var payloads: [ArraySlice<UInt8>] = []
        var isInterrupted = false
        for message in try NetlinkMessage.all(in: bytes[...]) {
            if message.flags & NetlinkDump.isInterrupted != 0 { isInterrupted = true }
            if message.type == overrun { throw .malformed("an overrun") }
            guard message.type == error || message.type == done else {
                if message.type == type { payloads.append(message.payload) }
                continue
            }
            // NLMSG_ERROR holds a negative error number, or 0 for success. NLMSG_DONE holds one
            // too, or omits it.
            let code = message.payload.number(at: 0, as: Int32.self)
            if let code, code != 0 { throw .refused(0 &- code) }
            if message.type == error {
                guard code != nil else { throw .malformed("an error without its number") }
                continue
            }
            if isInterrupted { throw .interrupted }
            return payloads
        }
        throw .cutShort
    }

    /// Returns whether a datagram is the last one of a dump: it holds NLMSG_DONE or NLMSG_ERROR, or
    /// cannot be parsed.
    static func ends(_ datagram: ArraySlice<UInt8>) -> Bool {
        do throws(NetlinkMessage.Fault) {
            return try NetlinkMessage.all(in: datagram).contains { message in
                message.type == done || message.type == error
            }
        } catch {
            return true
        }
    }
}

/// An attribute of a netlink message: a type, and a value whose format depends on the type.
struct NetlinkAttribute {
    var type: UInt16
    var value: ArraySlice<UInt8>

    /// Parses consecutive attributes.
    static func all(
        in bytes: ArraySlice<UInt8>
    ) throws(NetlinkMessage.Fault) -> [NetlinkAttribute] {
        var attributes: [NetlinkAttribute] = []
        let headerSize = 4
        try bytes.eachRecord(withHeaderOf: headerSize, "an attribute") { record in
            // The two highest bits are flags about the value's encoding.
            let type = (record.number(at: 2, as: UInt16.self) ?? 0) & 0x3FFF
            attributes.append(NetlinkAttribute(type: type, value: record.dropFirst(headerSize)))
        }
        return attributes
    }

    /// Returns the value as a number in this machine's byte order.
    func number<Number: FixedWidthInteger>(
        as type: Number.Type
    ) throws(NetlinkMessage.Fault) -> Number {
        guard value.count == MemoryLayout<Number>.size,
            let number = value.number(at: 0, as: Number.self)
        else { throw .malformed("attribute \(self.type) of \(value.count) bytes") }
        return number
    }

    /// The value as text, up to the first zero byte.
    var text: String { String(decoding: value.prefix { $0 != 0 }, as: UTF8.self) }
}

extension ArraySlice<UInt8> {
    /// Returns the number that starts `offset` bytes after the first byte; `nil` if there are too
    /// few bytes.
    func number<Number: FixedWidthInteger>(at offset: Int, as type: Number.Type) -> Number? {
        guard offset >= 0, count - offset >= MemoryLayout<Number>.size else { return nil }
        return withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Number.self) }
    }
}

extension ArraySlice<UInt8> {
    /// Calls `body` with each of consecutive records. They start at multiples of four bytes, and
    /// begin with their length in 16 bits. Fewer bytes than a header are padding.
    func eachRecord(
        withHeaderOf headerSize: Int, _ noun: String,
        _ body: (ArraySlice<UInt8>) throws(NetlinkMessage.Fault) -> Void
    ) throws(NetlinkMessage.Fault) {
        var rest = self
        while rest.count >= headerSize {
            guard let length = rest.number(at: 0, as: UInt16.self), length >= headerSize,
                length <= rest.count
            else { throw .malformed("\(noun) that does not fit, with \(rest.count) left") }
            try body(rest.prefix(Int(length)))
            rest = rest.dropFirst(Int(length).alignedToFour)
        }
    }
}

extension Int {
    fileprivate var alignedToFour: Int { (self + 3) & ~3 }
}
