import CMosquitto
import ClarityScheduler
import HealthModel
import HealthStore
@preconcurrency import Glibc

/// A connection to a broker of MQTT 5, for messages that it keeps.
///
/// Version 5, because a broker of an earlier one acknowledges a message also if it may not be sent.
struct BrokerConnection {
    private let url: String
    private let host: String
    private let port: Int32
    private let isSecure: Bool
    private let options: PublishOptions
    private let password: Secret?

    init(_ options: PublishOptions, _ context: WorkContext) throws {
        self.options = options
        url = options.url
        isSecure = url.lowercased().hasPrefix("mqtts:")
        // The job file's reader has checked its form.
        let authority = (url.split(separator: "/").dropFirst().first ?? "")
        let end = authority.last == "]" ? nil : authority.lastIndex(of: ":")
        port =
            end.flatMap { Int32(authority[authority.index(after: $0)...]) }
            ?? (isSecure ? 8883 : 1883)
        host = authority[..<(end ?? authority.endIndex)].filter { !"[]".contains($0) }
        password = try options.secretName.map { name throws(Failure) in
            try context.secrets.secret(named: name)
        }
    }

    /// Sends messages, and returns when the broker has acknowledged each. It keeps the last one of a
    /// topic; an empty one removes it.
    ///
    /// - Throws: `PublishRefusal`; `WorkStopped` once `isEnding` returns true.
    func publish(_ messages: [(topic: String, body: [UInt8])], isEnding: () -> Bool) throws {
        var reason: UnsafePointer<CChar>?
        guard let library = cmosquitto_load(&reason)?.pointee else {
            let reason = reason.map { String(cString: $0) } ?? "no reason"
            throw PublishRefusal(
                .configuration,
                "cannot load libmosquitto (Debian's package libmosquitto1): \(reason)")
        }
        let exchange = BrokerExchange()
        guard
            let client = library.mosquitto_new(
                nil, true, Unmanaged.passUnretained(exchange).toOpaque())
        else { throw PublishRefusal(.internalFault, "libmosquitto has no memory") }
        defer {
            library.mosquitto_destroy(client)
            withExtendedLifetime(exchange) {}
        }
        library.mosquitto_connect_callback_set(client) { _, exchange, code in
            BrokerExchange.of(exchange)?.answer = code
        }
        library.mosquitto_publish_v5_callback_set(client) { _, exchange, message, code, _ in
            BrokerExchange.of(exchange)?.end(message, code)
        }
        let address = try configure(client, library)
        try check(library.mosquitto_connect(client, address, port, 60), while: "cannot be reached")
        func wait(until isDone: () -> Bool) throws {
            while !isDone() {
                if isEnding() { throw WorkStopped() }
                try check(
                    library.mosquitto_loop(client, 200, 1), while: "ended the connection",
                    exchange.answer)
            }
        }
        try wait { exchange.answer != nil }
        try check(answer: exchange.answer ?? 0)
        for message in messages {
            var number: Int32 = 0
            try check(
                library.mosquitto_publish(
                    client, &number, message.topic, Int32(message.body.count), message.body, 1,
                    true), while: "ended the connection")
            exchange.open.insert(number)
        }
        try wait { exchange.open.isSubset(of: exchange.acknowledged) || exchange.refusal != nil }
        if let code = exchange.refusal {
            throw PublishRefusal(
                code == 0x87 ? .credential : .work,
                code == 0x87
                    ? "`\(url)` does not let this user write the topics of the sensors"
                    : "`\(url)` refuses a message (reason \(code))")
        }
        _ = library.mosquitto_disconnect(client)
        // Writes what is left, and closes the connection.
        while !isEnding(), library.mosquitto_loop(client, 200, 1) == MOSQ_ERR_SUCCESS.rawValue {}
    }

    /// Sets version, user and TLS. Returns the address to connect to.
    private func configure(_ client: OpaquePointer, _ library: cmosquitto) throws -> String {
        _ = library.mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5)
        var address = host
        if let user = options.username {
            if !isSecure, password != nil, !options.allowsPlainHTTP {
                address = try privateAddress()
            }
            _ = library.mosquitto_username_pw_set(client, user, password?.reveal())
        }
        guard isSecure else { return address }
        let code =
            if let file = options.authorities {
                library.mosquitto_tls_set(client, file, nil, nil, nil, nil)
            } else {
                library.mosquitto_int_option(client, MOSQ_OPT_TLS_USE_OS_CERTS, 1)
            }
        guard code == MOSQ_ERR_SUCCESS.rawValue else {
            throw PublishRefusal(
                .configuration, "the certificates of the job's `ca_bundle` cannot be read")
        }
        return address
    }

    /// Returns the first of the host's addresses, if all of them are of this machine or a private
    /// network. So a password without TLS goes nowhere else, whatever the name means a moment later.
    private func privateAddress() throws -> String {
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, nil, &found) == 0, let first = found else {
            throw PublishRefusal(.unreachable, "`\(url)` cannot be reached: no address of its name")
        }
        defer { freeaddrinfo(first) }
        var addresses: [String] = []
        var next = found
        while let entry = next {
            var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            guard let place = entry.pointee.ai_addr,
                BrokerConnection.isPrivate(place),
                getnameinfo(
                    place, entry.pointee.ai_addrlen, &name, socklen_t(name.count), nil, 0,
                    NI_NUMERICHOST) == 0
            else {
                throw PublishRefusal(
                    .configuration,
                    "`\(url)` leads to a public address, where anybody on the way can read the "
                        + "password; use `mqtts://`")
            }
            addresses.append(
                String(decoding: name.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self))
            next = entry.pointee.ai_next
        }
        return addresses[0]
    }

    /// Whether an address is of this machine, or of a network that no router of the internet
    /// forwards: RFC 1918, RFC 3927, RFC 4193 and RFC 4291.
    static func isPrivate(_ address: UnsafePointer<sockaddr>) -> Bool {
        func isPrivate(_ bytes: [UInt8]) -> Bool {
            switch (bytes[0], bytes[1]) {
            case (10, _), (127, _), (172, 16...31), (192, 168), (169, 254): true
            default: false
            }
        }
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                withUnsafeBytes(of: $0.pointee.sin_addr) { isPrivate(Array($0)) }
            }
        case AF_INET6:
            return address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                withUnsafeBytes(of: $0.pointee.sin6_addr) { bytes in
                    let isMapped = bytes.dropFirst(10).prefix(2).elementsEqual([0xFF, 0xFF])
                    let start = bytes.prefix(isMapped ? 10 : 15)
                    if start.allSatisfy({ $0 == 0 }) {
                        return isMapped ? isPrivate(Array(bytes[12...])) : bytes[15] == 1
                    }
                    return bytes[0] & 0xFE == 0xFC || bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
                }
            }
        default: return false
        }
    }

    /// Throws for an error of libmosquitto.
    ///
    /// - Parameters:
    ///   - what: what is wrong if the broker cannot be talked to.
    ///   - answer: the broker's answer to the connection, if it gave one.
    private func check(_ code: Int32, while what: String, _ answer: Int32? = nil) throws {
        guard code != MOSQ_ERR_SUCCESS.rawValue else { return }
        if let answer { try check(answer: answer) }
        switch code {
        case MOSQ_ERR_TLS.rawValue, MOSQ_ERR_TLS_HANDSHAKE.rawValue:
            throw PublishRefusal(
                .configuration, "`\(url)` has no certificate or TLS that is trusted")
        default: throw PublishRefusal(.unreachable, "`\(url)` \(what)")
        }
    }

    /// Throws for an answer that refuses the connection (MQTT 5, section 3.2.2.2).
    private func check(answer: Int32) throws {
        switch answer {
        case 0: break
        case 0x86, 0x87, 4, 5:
            throw PublishRefusal(
                .credential,
                options.username == nil
                    ? "`\(url)` wants a user and password"
                    : "`\(url)` refuses the user or password")
        case 0x84, 1:
            throw PublishRefusal(.configuration, "`\(url)` does not know MQTT 5")
        case 0x88, 0x89, 0x97, 0x9F, 3:
            throw PublishRefusal(.unreachable, "`\(url)` is busy (reason \(answer))")
        default:
            throw PublishRefusal(.work, "`\(url)` refuses the connection (reason \(answer))")
        }
    }
}

/// What the broker has answered. Used by one thread: libmosquitto calls back from within its
/// functions.
private final class BrokerExchange {
    /// The answer to the connection.
    var answer: Int32?
    /// The numbers of the messages that were sent.
    var open: Set<Int32> = []
    private(set) var acknowledged: Set<Int32> = []
    /// The reason for which a message was refused.
    private(set) var refusal: Int32?

    func end(_ message: Int32, _ code: Int32) {
        acknowledged.insert(message)
        if code >= 0x80 { refusal = refusal ?? code }
    }

    static func of(_ pointer: UnsafeMutableRawPointer?) -> BrokerExchange? {
        pointer.map { Unmanaged<BrokerExchange>.fromOpaque($0).takeUnretainedValue() }
    }
}
