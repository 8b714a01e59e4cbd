import Testing

@testable import ClarityHost

@Suite struct WebAddressTests {
    @Test(arguments: [
        ("http://localhost/api", true), ("HTTP://LOCALHOST:80", true),
        ("http://127.0.0.1:8787", true),
        ("http://127.255.3.4/", true), ("http://[::1]:8787/api", true),
        ("http://127.0.0.1.example", false), ("http://127.1", false), ("http://127.0.0.256", false),
        ("http://0177.0.0.1", false), ("http://127.0.0.01", false),
        ("http://localhost.example", false),
        ("http://localhost.", false), ("http://[::2]", false), ("http://[::ffff:127.0.0.1]", false),
        ("http://10.0.0.1", false), ("http://0.0.0.0", false),
        ("http://127.0.0.1,evil.example", false),
    ])
    func `this machine is known by what no name service can change`(
        text: String, isLoopback: Bool
    ) throws {
        let address = try WebAddress.parse(text)

        #expect(address.isLoopback == isLoopback)
        #expect(!address.isSecure)
    }

    @Test(arguments: [
        "http://localhost@clarity.example", "http://127.0.0.1\\@clarity.example",
        "http://127.0.0.1\u{7F}", "http://lócalhost", "ftp://localhost", "http:localhost",
        "http://",
        "http://:80", "http://[]", "http://[::1]8080", "http://localhost:", "http://localhost:0",
        "http://localhost:+80", "http://localhost:65536", "http://localhost#@x", "",
    ])
    func `an address that programs could read in two ways is refused`(text: String) {
        #expect(throws: TextFault.self) { try WebAddress.parse(text) }
    }

    @Test func `https may lead anywhere`() throws {
        let address = try WebAddress.parse("HTTPS://Clarity.Example:8443/api/v1")

        #expect(address == WebAddress(isSecure: true, host: "clarity.example"))
    }

    @Test(arguments: [
        (
            "http://clarity.example/api",
            """
            url leads to `clarity.example` over http, where anybody on the way can read it
            help: use https; http is for `localhost`, `127.0.0.1` and `[::1]` only
            """
        ),
        (
            "https://ada:secret@clarity.example/",
            """
            url holds a user name or password
            help: secrets never stand in a job file
            """
        ),
        ("clarity.example", "url does not start with `https://`"),
        ("https://a b", "url holds a character that no url has"),
        ("https:///api", "url names no host"),
        ("https://[::1/api", "url has a `[` without its `]`"),
        (
            "https://clarity.example:99999",
            "url has a port that is no number from 1 to 65535"
        ),
        ("https://clarity.example/?a=b", "url has a query (`?`) or fragment (`#`), wanted none"),
    ])
    func `an address that is not safe or not whole is refused`(url: String, printed: String) {
        let faults = JobFileSamples.faults(
            "version: 1\nbackend: { url: '\(url)' }\njobs: []\n")

        #expect(faults == ["jobs.yaml:2:17: " + printed])
    }
}
