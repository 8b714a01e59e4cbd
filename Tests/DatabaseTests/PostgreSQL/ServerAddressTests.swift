import Testing

@testable import Database

@Suite("The URI of a server")
struct ServerAddressTests {
    @Test(arguments: [
        ServerAddress(host: "db.example", database: "clarity", user: "clarity"),
        ServerAddress(host: "::1", port: 5433, database: "a b", user: "clarity/anna-1"),
        ServerAddress(host: "/run/postgresql", database: "d", user: "u"),
        ServerAddress(
            host: "10.0.0.1", database: "d", user: "\u{fc}", passwordFile: "/etc/a b/pass",
            rootCertificate: "/etc/ca.pem"),
    ])
    func `an address reads back from its URI`(address: ServerAddress) throws {
        #expect(try ServerAddress(parsing: address.uri) == address)
    }

    @Test func `a text for people has neither a password nor a file`() throws {
        var address = try ServerAddress(
            parsing: "postgresql://u@db.example/d?passfile=/etc/pass&sslrootcert=/etc/ca")
        address.password = "hidden"

        #expect("\(address)" == "postgresql://u@db.example/d")
        #expect(!address.uri.contains("hidden"))
    }

    @Test(arguments: [
        ("postgresql://u:hidden@h/d", "holds a password"),
        ("https://u@h/d", "does not start with `postgresql://`"),
        ("postgresql://h/d", "names no user before an `@`"),
        ("postgresql://@h/d", "names no user before an `@`"),
        ("postgresql://u@h", "names no database after the host"),
        ("postgresql://u@h/", "names no database after the host"),
        ("postgresql://u@h/d/e", "names no database after the host"),
        ("postgresql://u@/d", "names no host"),
        ("postgresql://u@h,i/d", "names no host, or more than one"),
        ("postgresql://u@h:0/d", "has a port that is no number from 1 to 65535"),
        ("postgresql://u@h:x/d", "has a port that is no number from 1 to 65535"),
        ("postgresql://u@[::1/d", "has a `[` without its `]`"),
        ("postgresql://u@h/d?sslmode=disable", "has a parameter that is not allowed"),
        ("postgresql://u@h/d?host=/run", "has a parameter that is not allowed"),
        ("postgresql://u@h/d?passfile=relative", "has a parameter that is no absolute path"),
        ("postgresql://u@h/d%0", "names no database after the host"),
        ("postgresql://u@h/d%00", "names no database after the host"),
        ("postgresql://u@h/a b", "is longer than 2000 characters or has one no url has"),
    ])
    func `what is no address is refused without showing it`(text: String, reason: String) {
        let fault = #expect(throws: ServerAddressFault.self) {
            try ServerAddress(parsing: text)
        }
        #expect(fault?.message == reason)
        #expect(fault?.help?.contains("hidden") != true)
    }
}
