import Testing

@testable import Backend
@testable import BackendContract

struct DestinationTests {
    @Test(arguments: [
        "http://127.0.0.1:8787/api/v1", "http://127.9.8.7", "http://localhost:1/x",
        "HTTP://LOCALHOST/", "http://[::1]:8/", "http://0x7f000001/", "http://127.1/",
    ])
    func `this machine may be spoken to without TLS`(url: String) throws {
        let destination = try Destination(url)

        #expect(destination.isLoopback)
        #expect(!destination.isSecure)
    }

    @Test(arguments: ["https://backend.example/", "https://10.0.0.1", "https://[2001:db8::1]/"])
    func `other machines are spoken to with TLS`(url: String) throws {
        let destination = try Destination(url)

        #expect(!destination.isLoopback)
        #expect(destination.isSecure)
    }

    @Test(arguments: [
        "http://backend.example/", "http://127.0.0.1.example.com/", "http://localhost.example/",
        "http://[::ffff:7f00:1]/", "http://10.0.0.1/", "http://0.0.0.0/", "http://128.0.0.1/",
        "http://127.0.0.1%2eexample.com/",
    ])
    func `plain http to another machine is refused`(url: String) {
        #expect(
            throws: TransportError.refused("plain http is for this machine only; use `https://`")
        ) { try Destination(url) }
    }

    @Test func `plain http may lead to another machine where nothing is secret`() throws {
        let destination = try Destination("http://backend.example/", allowsPlain: true)

        #expect(!destination.isLoopback)
        #expect(!destination.isSecure)
    }

    @Test(arguments: [
        ("file:///etc/passwd", "the backend's URL must begin with `https://` or `http://`"),
        ("ftp://127.0.0.1/", "the backend's URL must begin with `https://` or `http://`"),
        ("https://user@backend.example/", "the backend's URL must not hold a user or password"),
        ("http://u:p@127.0.0.1/", "the backend's URL must not hold a user or password"),
        ("backend.example/api", "the backend's URL is not an absolute URL"),
        ("https://a b/", "the backend's URL is not an absolute URL"),
        ("https://a/\r\nHost: b", "the backend's URL is not an absolute URL"),
        ("https://a/\0", "the backend's URL is not an absolute URL"),
        ("", "the backend's URL is not an absolute URL"),
    ])
    func `anything else is refused with its reason`(url: String, reason: String) {
        #expect(throws: TransportError.refused(reason)) { try Destination(url) }
    }
}
