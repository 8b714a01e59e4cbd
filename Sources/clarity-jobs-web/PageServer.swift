import CMicroHTTPD
import HTTPServing

/// Serves pages that are only read, with libmicrohttpd and one thread.
///
/// It answers GET and HEAD, reads no body, serves at most 16 connections at the same time, and
/// closes one that is silent for 10 s.
final class PageServer {
    /// An answer.
    struct Page: Sendable {
        var status: UInt32
        var type = "text/plain; charset=utf-8"
        var text: String
    }

    /// Answers for a path, on the server's thread.
    typealias Pages = @Sendable (_ path: String) -> Page?

    /// The address that the server listens on, with the actual port.
    let address: ListenAddress
    private let context: Context
    private var daemon: OpaquePointer?

    fileprivate final class Context {
        let pages: Pages
        /// Whether only this machine can connect.
        let isLoopback: Bool

        init(_ pages: @escaping Pages, isLoopback: Bool) {
            self.pages = pages
            self.isLoopback = isLoopback
        }
    }

    /// Starts the server; `nil` if libmicrohttpd cannot start its thread.
    init?(_ listener: consuming Listener, pages: @escaping Pages) {
        address = listener.address
        context = Context(pages, isLoopback: listener.address.isLoopback)
        daemon = cmicrohttpd_start(
            listener.release(), answer, nil, nil, Unmanaged.passUnretained(context).toOpaque(), 16,
            10)
        if daemon == nil { return nil }
    }

    deinit { stop() }

    /// Closes every connection and ends the thread.
    func stop() {
        guard let daemon else { return }
        MHD_stop_daemon(daemon)
        self.daemon = nil
    }
}

extension PageServer.Context {
    /// Returns the answer to a request.
    func page(_ method: String, _ path: String, host: String?) -> PageServer.Page {
        guard ["GET", "HEAD"].contains(method) else {
            return PageServer.Page(status: 405, text: "only GET and HEAD are answered\n")
        }
        // A web page may have made its own name point to this machine, to read the answer.
        guard !isLoopback || host.map(isLocal) ?? true else {
            return PageServer.Page(status: 403, text: "ask for 127.0.0.1 or localhost\n")
        }
        return pages(path) ?? PageServer.Page(status: 404, text: "there is only /metrics\n")
    }

    private func isLocal(_ host: String) -> Bool {
        let name = host.prefix { $0 != ":" }
        return name == "localhost" || ListenAddress("\(name):0") != nil
    }
}

// The callback is isolated to no actor: it runs on libmicrohttpd's thread.

private func answer(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ url: UnsafePointer<CChar>?, _ method: UnsafePointer<CChar>?,
    _ version: UnsafePointer<CChar>?, _ data: UnsafePointer<CChar>?,
    _ size: UnsafeMutablePointer<Int>?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let context, let connection, let url, let method, let size, let state else {
        return .NO
    }
    let server = Unmanaged<PageServer.Context>.fromOpaque(context).takeUnretainedValue()
    let verb = String(cString: method)
    // The first call is for the head of the request. An answer to it would close the connection,
    // which is right only if a body may follow.
    if state.pointee == nil, ["GET", "HEAD"].contains(verb) {
        state.pointee = UnsafeMutableRawPointer(bitPattern: 1)
        return .YES
    }
    guard size.pointee == 0 else { return .NO }
    let host = MHD_lookup_connection_value(connection, .HEADER_KIND, "Host")
    let page = server.page(
        verb, String(cString: url), host: host.map { String(cString: $0) })
    return page.queue(on: connection)
}

extension PageServer.Page {
    fileprivate func queue(on connection: OpaquePointer) -> MHD_Result {
        var text = text
        let made = text.withUTF8 { bytes in
            // The bytes are copied. The pointer is mutable only because other modes need it.
            MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                .RESPMEM_MUST_COPY)
        }
        guard let made else { return .NO }
        defer { MHD_destroy_response(made) }
        let headers = [
            ("Content-Type", type), ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
        ]
        for (name, value) in headers + (status == 405 ? [("Allow", "GET, HEAD")] : []) {
            guard MHD_add_response_header(made, name, value) == .YES else { return .NO }
        }
        return MHD_queue_response(connection, status, made)
    }
}
