import CMicroHTTPD
@preconcurrency import Glibc

/// A request that libmicrohttpd delivers in pieces.
final class Exchange {
    private var request: Request
    private let mostBytes: Int
    /// The reply, once decided; it may be delivered later.
    var reply: Reply?
    /// Whether the client was gone before the answer could be sent.
    var isAbandoned = false

    /// Creates an exchange from the request's line and headers.
    init(_ connection: OpaquePointer, method: String, path: String, mostBytes: Int) {
        request = Request(method: method, path: path)
        request.connection = cmicrohttpd_number(connection)
        request.peerPort = Int(cmicrohttpd_peer_port(connection))
        self.mostBytes = mostBytes
        request.authorization = Exchange.header("Authorization", connection)
        request.contentType = Exchange.header("Content-Type", connection)
        request.host = Exchange.header("Host", connection)
        request.announcedLength = Exchange.header("Content-Length", connection).flatMap { Int($0) }
        withUnsafeMutablePointer(to: &request.query) { query in
            _ = MHD_get_connection_values(
                connection, .GET_ARGUMENT_KIND,
                { context, _, name, value in
                    if let context, let name {
                        let query = context.assumingMemoryBound(to: [String: String].self)
                        query.pointee[String(cString: name)] =
                            value.map { String(cString: $0) } ?? ""
                    }
                    return .YES
                }, query)
        }
    }

    /// The request, which is complete once the whole body has been appended.
    var whole: Request { request }

    /// Appends a piece of the body.
    ///
    /// A body that is too long is discarded but read to its end, because a client that is still
    /// writing would not see the answer.
    func append(_ bytes: UnsafeRawBufferPointer) {
        guard !request.isTooLarge else { return }
        if request.body.count + bytes.count > mostBytes {
            request.isTooLarge = true
            request.body = []
        } else {
            request.body += bytes
        }
    }

    private static func header(_ name: String, _ connection: OpaquePointer) -> String? {
        MHD_lookup_connection_value(connection, .HEADER_KIND, name).map {
            String(cString: $0)
        }
    }
}

extension Response {
    /// Queues the whole answer.
    func queue(on connection: OpaquePointer) -> MHD_Result {
        let made = body.withUnsafeBytes { bytes in
            // The bytes are copied. The pointer is mutable only because other modes need it.
            MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                .RESPMEM_MUST_COPY)
        }
        return queue(made, on: connection)
    }

    /// Queues a truncated answer: it announces the whole length and sends half of the body.
    func queueHalf(on connection: OpaquePointer) -> MHD_Result {
        let half = Unmanaged.passRetained(HalfBody(Array(body.prefix(body.count / 2))))
        let made = MHD_create_response_from_callback(
            UInt64(body.count), 16_384,
            { context, offset, buffer, room in
                guard let context, let buffer else { return cmicrohttpd_end_with_error }
                let half = Unmanaged<HalfBody>.fromOpaque(context).takeUnretainedValue()
                let rest = half.bytes.dropFirst(Int(offset)).prefix(room)
                guard !rest.isEmpty else { return cmicrohttpd_end_with_error }
                rest.withUnsafeBytes { bytes in
                    UnsafeMutableRawPointer(buffer).copyMemory(
                        from: bytes.baseAddress ?? UnsafeRawPointer(buffer),
                        byteCount: bytes.count)
                }
                return rest.count
            }, half.toOpaque(),
            { context in
                if let context { Unmanaged<HalfBody>.fromOpaque(context).release() }
            })
        // Without a response, nothing else releases the body.
        if made == nil { half.release() }
        return queue(made, on: connection)
    }

    private func queue(_ made: OpaquePointer?, on connection: OpaquePointer) -> MHD_Result {
        guard let made else { return .NO }
        defer { MHD_destroy_response(made) }
        for header in headers {
            guard MHD_add_response_header(made, header.name, header.value) == .YES else {
                return .NO
            }
        }
        return MHD_queue_response(connection, UInt32(status), made)
    }
}

/// The half of a body that is sent.
private final class HalfBody {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }
}

/// Resets a TCP connection at once.
///
/// On Linux, connecting a socket to no address dissolves its connection with an RST (connect(2)).
/// Closing it with SO_LINGER would come too late, after the FIN that libmicrohttpd sends first.
func resetConnection(_ connection: OpaquePointer) {
    var nowhere = sockaddr()
    nowhere.sa_family = sa_family_t(AF_UNSPEC)
    // If the client has gone first, there is nothing left to reset.
    _ = connect(
        cmicrohttpd_socket(connection), &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
}

/// Returns whether the client has closed its end, like one that was killed while it waited for the
/// answer.
func isClosed(_ connection: OpaquePointer) -> Bool {
    var byte: UInt8 = 0
    let count = recv(
        cmicrohttpd_socket(connection), &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
    return count == 0 || count < 0 && errno != EAGAIN && errno != EINTR
}
