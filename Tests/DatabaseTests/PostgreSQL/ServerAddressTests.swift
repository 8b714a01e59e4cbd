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
        Self.several("db1", 5432, "db2", 5433), Self.several("::1", 5433, "/run/b", 5432),
        Self.several("/run/a", 5433, "/run/b", 5434, for: .any),
        Self.asking([.md5, .scram], .prefer), Self.asking([.clearText], .require),
    ])
    func `an address reads back from its URI`(address: ServerAddress) throws {
        #expect(try ServerAddress(parsing: address.uri) == address)
    }

    private static func asking(
        _ questions: Set<ServerAddress.Question>, _ binding: ServerAddress.Binding
    ) -> ServerAddress {
        var address = ServerAddress(host: "db.example", database: "d", user: "u")
        (address.questions, address.binding) = (questions, binding)
        return address
    }

    private static func several(
        _ first: String, _ firstPort: Int, _ second: String, _ secondPort: Int,
        for target: ServerAddress.Target? = nil
    ) -> ServerAddress {
        var address = ServerAddress(host: first, port: firstPort, database: "d", user: "u")
        address.hosts.append(ServerAddress.Host(second, port: secondPort))
        address.target = target
        return address
    }

    @Test(arguments: [
        ("u@db1,db2:5433/d", ["db1:5432", "db2:5433"]),
        ("u@[::1]:1,10.0.0.1/d", ["::1:1", "10.0.0.1:5432"]),
        ("u@%2Frun%2Fa,db/d", ["/run/a:5432", "db:5432"]),
        ("u@:5433/d?host=/run/a,/run/b", ["/run/a:5433", "/run/b:5433"]),
    ])
    func `an address has the hosts between the commas`(text: String, hosts: [String]) throws {
        let address = try ServerAddress(parsing: "postgresql://\(text)")

        #expect(address.hosts.map { "\($0.name):\($0.port)" } == hosts)
        #expect(try ServerAddress(parsing: address.uri) == address)
    }

    @Test(arguments: [
        ("u@h/d", "any"), ("u@h,i/d", "read-write"), ("u@h,i/d?target_session_attrs=any", "any"),
        ("u@h/d?target_session_attrs=primary", "primary"),
    ])
    func `of several hosts one that takes writes is wanted`(text: String, wanted: String) throws {
        let address = try ServerAddress(parsing: "postgresql://\(text)")
        let parameters = address.parameters(for: address.hosts[0])

        #expect(parameters.first { $0.name == "target_session_attrs" }?.value == wanted)
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
        ("postgresql://u@h,/d", "has a comma with no host beside it"),
        ("postgresql://u@,h/d", "has a comma with no host beside it"),
        ("postgresql://u@h,i:0/d", "has a port that is no number from 1 to 65535"),
        ("postgresql://u@a%2Fb/d", "has a host that is neither a name nor an address"),
        (
            "postgresql://u@h,i/d?target_session_attrs=standby",
            "has a `target_session_attrs` that is not `any`, `read-write` or `primary`"
        ),
        ("postgresql://u@:1/d?host=/a,b", "has a parameter that is no absolute path"),
        ("postgresql://u@h:0/d", "has a port that is no number from 1 to 65535"),
        ("postgresql://u@h:x/d", "has a port that is no number from 1 to 65535"),
        ("postgresql://u@[::1/d", "has a `[` without its `]`"),
        (
            "postgresql://u@h/d?require_auth=md5,none",
            "has a `require_auth` with a word that is not `scram-sha-256`, `md5` or `password`"
        ),
        (
            "postgresql://u@h/d?channel_binding=no",
            "has a `channel_binding` that is not `disable`, `prefer` or `require`"
        ),
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
