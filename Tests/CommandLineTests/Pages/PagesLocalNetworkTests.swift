import ClarityScheduler
import ClarityTestSupport
import Glibc
import HTTPServing
import HealthStore
import Platform
@testable import ProgramTestSupport
import Testing

@testable import clarity_jobs_web

/// `serve --lan`: the pages on the phones of the local network.
@Suite("The pages in the local network", .timeLimit(.minutes(5)))
struct PagesLocalNetworkTests {
    private static let hasCode = access("/usr/bin/zbarimg", X_OK) == 0
    private let now = Instant(secondsSince1970: 1_800_000_000)
    private let names = LocalNames(
        hosts: ["box", "box.local"], addresses: [LocalAddress(0xC0A8_0107)].compactMap(\.self))

    // MARK: From the other end of a cable

    @Test(.enabled(if: NetworkNamespace.isPermitted, "needs network namespaces"))
    func `a phone that scans the code is in, by TLS with the certificate that was shown`()
        async throws
    {
        let network = try await blocking { try NetworkNamespace() }
        try network.ip("address add 203.0.113.7/24 dev eth0")
        let playground = try await Playground(sandboxOptions: nil, in: network)
        let command = network.command(
            "\(ChildProgram.folder)/clarity-jobs", ["serve", "--lan", "--listen", "127.0.0.1:0"])
        let terminal = try TerminalProgram(
            command.program, command.arguments, environment: playground.terminalEnvironment,
            columns: 120)
        let blank = Code.line(of: String(repeating: " ", count: 20))
        let screen = await terminal.read(until: blank, count: 4)
        let link = try #require(
            screen.firstMatch(
                of: /open (https:\/\/10\.77\.0\.2:(\d+)\/enter\?token=[0-9a-f]{64}) \(works once/),
            "\(screen)")
        let port = link.output.2
        let pem = "\(playground.statePath)/pages/lan.pem"
        /// Asks from the street, as a phone with this certificate does that knows nothing else.
        func ask(_ url: String, _ options: String...) async throws -> ProgramResult {
            let command = network.streetCommand(
                "/usr/bin/curl", ["-sSi", "-m", "20", "--cacert", pem] + options + [url])
            return try await ChildProgram.run(command.program, command.arguments)
        }

        let code = Self.hasCode ? try await Code.text(in: screen) : String(link.output.1)
        let plain = try await ask("http://10.77.0.2:\(port)/enter")
        let other = try await ask("https://10.77.0.2:\(port)/enter", "-H", "Host: evil.example")
        let near = try await ask(
            "https://10.77.0.2:\(port)/enter", "-H", "Host: 10.77.0.3:\(port)")
        let host = HostIdentityName.local
        let named = try await ask(
            "https://\(host):\(port)/enter", "--resolve", "\(host):\(port):10.77.0.2")
        let misnamed = try await ask(
            "https://evil.example:\(port)/enter", "--resolve", "evil.example:\(port):10.77.0.2")
        let outside = try await ask("https://203.0.113.7:\(port)/enter", "-k")
        let first = try await ask(code)
        let second = try await ask(code)

        #expect(code == link.output.1)
        #expect(plain.status != 0 && plain.output == "", "\(plain.output)")
        #expect(other.output.hasPrefix("HTTP/1.1 403") && near.output.hasPrefix("HTTP/1.1 403"))
        #expect(named.output.hasPrefix("HTTP/1.1 200"), "\(named.errors)")
        #expect(misnamed.errors.contains("SSL"), "\(misnamed)")
        #expect(outside.status == 7, "curl can connect, or fails otherwise: \(outside)")
        #expect(first.output.hasPrefix("HTTP/1.1 303"), "\(first.errors)")
        #expect(first.output.contains("; Secure\r\n"))
        #expect(!first.output.lowercased().contains("strict-transport"))
        #expect(second.output.hasPrefix("HTTP/1.1 403"))
        let openssl = network.streetCommand(
            "/bin/sh",
            [
                "-c",
                "openssl s_client -connect 10.77.0.2:\(port) </dev/null 2>/dev/null"
                    + " | openssl x509 -noout -fingerprint -sha256",
            ])
        let served = try await ChildProgram.run(openssl.program, openssl.arguments).output
        let fingerprint = try #require(served.split(separator: "=").last).filter { $0 != "\n" }
        #expect(screen.contains("SHA-256 fingerprint of the certificate: \(fingerprint)\n"))
        // Nothing listens on the public address.
        let sockets = try await ChildProgram.run(
            command.program, ["netns", "exec", network.name, "cat", "/proc/net/tcp"])
        let listening = sockets.outputLines.map { $0.split(separator: " ") }
            .filter { $0[3] == "0A" }.map { $0[1].prefix(8) }
        #expect(Set(listening) == ["0100007F", "02004D0A"], "\(sockets.output)")
        terminal.signal(SIGTERM)
        #expect(await terminal.finish().status == 143)
    }

    @Test(.enabled(if: NetworkNamespace.isPermitted, "needs network namespaces"))
    func `without a terminal the log has the address and the fingerprint, and no link`()
        async throws
    {
        let network = try await blocking { try NetworkNamespace() }
        let playground = try await Playground(sandboxOptions: nil, in: network)
        func lines() async throws -> (lines: [String], link: String) {
            let program = try playground.start(["serve", "--lan", "--listen", "127.0.0.1:0"])
            var lines: [String] = []
            for _ in 0..<3 { lines.append(try #require(await program.readErrorLine())) }
            let link = try await playground.run("serve", "link")
            program.signal(SIGTERM)
            let end = await program.finish()
            #expect(end.status == 143 && end.errors == "" && end.output == "", "\(end)")
            return (lines, link.output)
        }

        let (first, link) = try await lines()
        let (again, _) = try await lines()

        let local = try #require(
            first[1].wholeMatch(of: /clarity-jobs: pages listening on (https:\/\/10.77.0.2:\d+)\//))
        #expect(link.hasPrefix("\(local.output.1)/enter?token=") && !link.contains("\u{1B}"))
        #expect(
            first[2].wholeMatch(
                of: /clarity-jobs: SHA-256 fingerprint of the certificate: ([0-9A-F]{2}:){31}../)
                != nil, "\(first)")
        #expect(again[2] == first[2])
    }

    @Test(.enabled(if: NetworkNamespace.isPermitted, "needs network namespaces"))
    func `the servers follow the addresses of the machine`() async throws {
        let network = try await blocking { try NetworkNamespace() }
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/pages/lan.pem"
        let now = now
        let found = try await network.enter {
            let servers = LocalServers(stateDirectory: folder.path, port: 8799) {
                listener, identity, _ in
                HTTPServer(listener, connections: 4, patience: 10, identity: identity) { _ in
                    Exchange { Answer(status: 204) }
                }
            }
            defer { servers.stop() }
            var found: [(Bool, String?, Int)] = []
            func note(_ isChanged: Bool) throws {
                let text = String(decoding: try TemporaryFolder.read(path), as: UTF8.self)
                let names = try #require(LocalCertificate(pem: text)).names
                found.append(
                    (isChanged, servers.address, names.count { $0.first?.isNumber ?? false }))
            }
            try note(try servers.follow(at: now))
            try note(try servers.follow(at: now))
            try network.ip("address add 192.168.9.9/24 dev eth0")
            try note(servers.keepUp(at: now))
            try network.ip("address del 10.77.0.2/24 dev eth0")
            try note(servers.keepUp(at: now))
            try note(try servers.follow(at: now + .seconds(380 * 86_400)))
            try network.ip("address del 192.168.9.9/24 dev eth0")
            try note(servers.keepUp(at: now))
            return found
        }

        #expect(found.map(\.0) == [true, false, true, true, true, false])
        #expect(
            found.map(\.1) == [
                "https://10.77.0.2:8799", "https://10.77.0.2:8799", "https://10.77.0.2:8799",
                "https://192.168.9.9:8799", "https://192.168.9.9:8799", nil,
            ])
        // A certificate with a name too many is kept, for the sake of those who trust it.
        #expect(found.map(\.2) == [1, 1, 2, 2, 1, 1])
    }

    @Test(.enabled(if: NetworkNamespace.isPermitted, "needs network namespaces"))
    func `a network without private addresses, and a port that is taken, are refused`()
        async throws
    {
        let network = try await blocking { try NetworkNamespace() }
        let playground = try await Playground(sandboxOptions: nil, in: network)
        let port = try await network.enter {
            var listener = try Listener(ListenAddress(host: 0x0A4D_0002, port: 0))
            // Open until the test run ends.
            _ = listener.release()
            return listener.address.port
        }

        let taken = try await playground.run("serve", "--lan", "--listen", "127.0.0.1:\(port)")
        try network.ip("address del 10.77.0.2/24 dev eth0")
        let alone = try await playground.run("serve", "--lan", "--listen", "127.0.0.1:0")

        #expect(
            taken.isRefusal(
                69, "clarity-jobs: cannot listen on 10.77.0.2:\(port): address already in use"))
        #expect(
            alone.isRefusal(
                69,
                "clarity-jobs: `--lan` found no private address (10.*, 172.16-31.*, 192.168.* or "
                    + "169.254.*) on this machine; connect it to the local network, or leave out "
                    + "`--lan`"))
    }

    @Test(arguments: [
        (["--certificate", "c", "--private-key", "k"], "`--lan` makes its own certificate"),
        (["--listen", "0.0.0.0:0"], "with `--lan`, the address of `--listen` is of this machine"),
    ])
    func `--lan chooses its certificate and its addresses`(
        options: [String], error: String
    ) async throws {
        let playground = try await Playground(sandboxOptions: nil)

        let end = try await playground.start(["serve", "--lan"] + options).finish()

        #expect(end.status == 64 && end.errors.hasPrefix("clarity-jobs: \(error)"), "\(end)")
    }

    // MARK: The certificate

    @Test func `a certificate is kept until it lacks a name or ends within 30 days`() throws {
        let folder = try TemporaryFolder()
        func kept(_ names: LocalNames, at now: Instant) throws -> LocalCertificate {
            try LocalCertificate.kept(in: folder.path, for: names, at: now)
        }

        let first = try kept(names, at: now)
        let days = { (count: Int64) in Duration.seconds(count * 86_400) }
        var more = names
        more.addresses += [LocalAddress(0x0A00_0001)].compactMap(\.self)

        #expect(first.names == ["192.168.1.7", "box", "box.local"])
        #expect(first.endsAt - first.beginsAt == days(397))
        #expect(try kept(names, at: now) == first)
        #expect(try kept(names, at: now + days(365)) == first)
        let second = try kept(names, at: now + days(366))
        #expect(second.fingerprint != first.fingerprint && second.endsAt > first.endsAt)
        // The clock was set back by more than a day.
        #expect(try kept(names, at: now).fingerprint != second.fingerprint)
        let third = try kept(more, at: now)
        #expect(third.names.contains("10.0.0.1"))
        #expect(try kept(names, at: now) == third)
        var status = stat()
        stat("\(folder.path)/pages/lan.pem", &status)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test func `a key that others can read, or a file without a certificate, is not used`() throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/pages/lan.pem"
        _ = try LocalCertificate.kept(in: folder.path, for: names, at: now)
        func fault() -> BackupError? {
            do throws(BackupError) {
                _ = try LocalCertificate.kept(in: folder.path, for: names, at: now)
                return nil
            } catch {
                return error
            }
        }

        chmod(path, 0o640)
        let readable = fault()
        try folder.write("pages/lan.pem", Array("nothing".utf8))
        chmod(path, 0o600)
        let empty = fault()

        let remedy = "remove it, and the next start makes another"
        #expect(
            readable == .unusable(path: path, problem: "others may have read its key; \(remedy)"))
        #expect(
            empty == .unusable(path: path, problem: "it has no certificate; \(remedy)"))
    }

    @Test func `only private addresses are local, and names are those of DNS`() {
        let local: [UInt32] = [0x0A00_0001, 0xAC10_0001, 0xAC1F_FFFF, 0xC0A8_0001, 0xA9FE_0001]
        let other: [UInt32] = [
            0x0800_0001, 0x0B00_0001, 0xAC0F_FFFF, 0xAC20_0000, 0xC0A9_0001, 0x6440_0001,
            0x7F00_0001, 0xCB00_7107, 0,
        ]

        #expect(local.allSatisfy { LocalAddress($0) != nil })
        #expect(other.allSatisfy { LocalAddress($0) == nil })
        #expect(LocalNames.hosts(named: "Box") == ["box", "box.local"])
        #expect(LocalNames.hosts(named: "box.home.arpa") == ["box.home.arpa", "box.local"])
        #expect(LocalNames.hosts(named: "box.local") == ["box.local"])
        #expect(LocalNames.hosts(named: "bücher") == [] && LocalNames.hosts(named: "") == [])
    }

    // MARK: The code

    @Test(.enabled(if: hasCode, "needs zbarimg"))
    func `serve link shows a code at a terminal that is wide enough`() async throws {
        let playground = try await Playground(sandboxOptions: nil)
        func screen(_ address: String, _ columns: UInt16) async throws -> String {
            let access = PageAccess(stateDirectory: playground.statePath)
            _ = try await playground.run("serve", "link")
            try access.note(address: address)
            let terminal = try TerminalProgram(
                "\(ChildProgram.folder)/clarity-jobs", ["serve", "link"],
                environment: playground.terminalEnvironment, columns: columns)
            return await terminal.finish().screen
        }

        let wide = try await screen("https://192.168.178.20:8799", 120)
        let narrow = try await screen("https://192.168.178.20:8799", 40)
        let near = try await screen("http://127.0.0.1:8799", 120)

        let link = try #require(wide.split(whereSeparator: \.isWhitespace).first)
        #expect(link.hasPrefix("https://192.168.178.20:8799/enter?token="))
        #expect(try await Code.text(in: wide) == link)
        let words = narrow.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.hasSuffix("no QR code: the terminal has 40 columns, and it needs 45"))
        #expect(!near.contains("\u{1B}[38") && near.hasPrefix("http://127.0.0.1:8799/enter"))
    }
}

/// A QR code as a screen shows it, read by a program that knows nothing of this one.
private enum Code {
    static let (begin, end) = ("\u{1B}[38;5;16;48;5;231m", "\u{1B}[0m")

    static func line(of text: String) -> String { begin + text }

    /// Draws what the screen shows as a picture of grey dots, and has zbarimg read it.
    static func text(in screen: String) async throws -> String {
        let rows = screen.split(separator: "\n").compactMap { line -> Substring? in
            guard let start = line.firstRange(of: begin), let stop = line.firstRange(of: end)
            else { return nil }
            return line[start.upperBound..<stop.lowerBound]
        }
        let halves = rows.flatMap { row in
            [
                row.map { "\u{2580}\u{2588}".contains($0) },
                row.map { "\u{2584}\u{2588}".contains($0) },
            ]
        }
        let scale = 4
        let width = (halves.first?.count ?? 0) * scale
        let dots = halves.flatMap { row in
            let line = row.flatMap { [UInt8](repeating: $0 ? 0 : 255, count: scale) }
            return Array(repeatElement(line, count: scale).joined())
        }
        let folder = try TemporaryFolder()
        let head = Array("P5\n\(width) \(halves.count * scale)\n255\n".utf8)
        try folder.write("code.pgm", head + dots)
        let read = try await ChildProgram.run(
            "/usr/bin/zbarimg", ["-q", "--raw", "\(folder.path)/code.pgm"])
        return read.outputLines.first ?? read.errors
    }
}

private enum HostIdentityName {
    /// The name by which other devices find this machine.
    static var local: String {
        var buffer = [CChar](repeating: 0, count: 256)
        gethostname(&buffer, buffer.count)
        let name = String(
            decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return "\(name.lowercased().prefix { $0 != "." }).local"
    }
}
