import CPostgreSQL
@preconcurrency import Glibc

/// Logs in to the first host of an address that lets it.
///
/// libpq would go through several hosts itself, but it gives up when one refuses the login, and one
/// that is frozen would use up the time of the others.
struct PostgresLogin {
    let library: UnsafePointer<cpostgresql>
    private let address: ServerAddress
    private let passwords: PasswordFile?

    /// - Throws: `DatabaseError` without libpq, and for a password file that cannot be read.
    init(_ address: ServerAddress) throws(DatabaseError) {
        var reason: UnsafePointer<CChar>?
        guard let library = cpostgresql_load(&reason) else {
            throw DatabaseError(
                kind: .other,
                message: "cannot load libpq (Debian's package libpq5): "
                    + (reason.map { String(cString: $0) } ?? "no reason"), code: "libpq")
        }
        self.library = library
        self.address = address
        passwords =
            if address.password == nil, let file = address.passwordFile {
                try PasswordFile(file)
            } else {
                nil
            }
    }

    /// Tries each host for an equal part of the time that is left.
    ///
    /// - Throws: `DatabaseError` with the reason of each host; `.gone` if one of them may be back
    ///   later.
    func connect(within patience: Duration) throws(DatabaseError) -> OpaquePointer {
        let deadline = ContinuousClock.now + patience
        var failures: [DatabaseError] = []
        for (place, host) in address.hosts.enumerated() {
            let left = (deadline - .now) / .milliseconds(address.hosts.count - place)
            let time = Duration.milliseconds(max(1, left.rounded()))
            do throws(DatabaseError) {
                return try connect(to: host, within: time)
            } catch {
                failures.append(error)
            }
        }
        var failure = failures.first(where: \.isGone) ?? failures[0]
        if failures.count > 1 {
            failure.message = zip(address.hosts, failures)
                .map { host, failure in "\(host.name):\(host.port): \(failure.message)" }
                .joined(separator: "; ")
        }
        throw failure
    }

    private func connect(
        to host: ServerAddress.Host, within time: Duration
    ) throws(DatabaseError) -> OpaquePointer {
        let password =
            if let passwords {
                try passwords.password(for: host, of: address)
            } else {
                address.password
            }
        let parameters = address.parameters(
            for: host, password: password, library: library.pointee.PQlibVersion())
        let names = parameters.map { strdup($0.name) } + [nil]
        let values = parameters.map { strdup($0.value) } + [nil]
        defer { for text in names + values { free(text) } }
        let started = names.map { UnsafePointer($0) }.withUnsafeBufferPointer { names in
            values.map { UnsafePointer($0) }.withUnsafeBufferPointer { values in
                library.pointee.PQconnectStartParams(names.baseAddress, values.baseAddress, 0)
            }
        }
        guard let connection = started else { throw .gone("out of memory") }
        do throws(DatabaseError) {
            try logIn(connection, at: host, within: time)
            return connection
        } catch {
            library.pointee.PQfinish(connection)
            throw error
        }
    }

    private func logIn(
        _ connection: OpaquePointer, at host: ServerAddress.Host, within time: Duration
    ) throws(DatabaseError) {
        let deadline = ContinuousClock.now + time
        _ = library.pointee.PQsetErrorVerbosity(connection, PQERRORS_VERBOSE)
        var step = PGRES_POLLING_WRITING
        while step != PGRES_POLLING_OK {
            guard library.pointee.PQstatus(connection) != CONNECTION_BAD,
                step != PGRES_POLLING_FAILED
            else { throw failure(of: connection) }
            let events = Int16(step == PGRES_POLLING_READING ? POLLIN : POLLOUT)
            let socket = library.pointee.PQsocket(connection)
            guard PostgresLink.wait(for: events, on: socket, until: deadline) else {
                throw .gone("no answer from the server within \(time)")
            }
            if host.isSocket { try PostgresLogin.checkPeer(at: host, on: socket) }
            step = library.pointee.PQconnectPoll(connection)
        }
    }

    /// Checks, before anything is sent, who listens at a Unix socket: root, this same user, or who
    /// owns the socket. In a folder where everybody may make one, who owns the folder.
    private static func checkPeer(
        at host: ServerAddress.Host, on socket: Int32
    ) throws(DatabaseError) {
        let path = "\(host.name)/.s.PGSQL.\(host.port)"
        var (folder, file) = (stat(), stat())
        guard stat(host.name, &folder) == 0, stat(path, &file) == 0 else {
            throw .gone("the socket `\(path)` has vanished")
        }
        let isOpenToAll = folder.st_mode & 0o002 != 0
        let owner = isOpenToAll ? folder.st_uid : file.st_uid
        let peer = cpostgresql_peer(socket)
        guard [0, Int(geteuid()), Int(owner)].contains(peer) else {
            throw DatabaseError(
                kind: .access,
                message: "the process at the socket `\(path)` belongs to the user \(peer), and not "
                    + "to \(owner), who owns the \(isOpenToAll ? "folder" : "socket")",
                code: "libpq")
        }
    }

    /// What libpq says of a server that asks for the password in another way than it may.
    private static let refusals = [
        "SSL was required", "channel binding", "authentication method requirement",
    ]

    /// Why the login failed: by the server's code if it answered, which libpq has in its message
    /// alone, as `FATAL:  28P01:  password authentication failed`.
    private func failure(of connection: OpaquePointer) -> DatabaseError {
        let lines = library.pointee.lines(connection)
        if lines.contains(where: { $0.hasSuffix(" session is read-only") }) {
            return DatabaseError(sqlState: "25006", message: "")
        }
        var message = lines.joined(separator: "; ")
        if PostgresLogin.refusals.contains(where: { message.contains($0) }) {
            message += "; the password was not sent: it answers SCRAM alone"
            if library.pointee.PQlibVersion() < 160_000 {
                message += ", and before libpq 16 only over TLS or at a Unix socket"
            }
        }
        let words = message.split(separator: " ")
        let code = words.firstIndex { word in
            word.utf8.count == 6 && word.last == ":"
                && word.dropLast().allSatisfy { $0.isASCII && ($0.isNumber || $0.isUppercase) }
                && word.contains(where: \.isNumber)
        }
        guard let code else {
            guard address.hosts.count > 1, let line = lines.first else { return .gone(message) }
            // libpq begins with the host, as `connection to server at "db1", port 5432 failed:`.
            let reason = line.split(separator: " failed: ", maxSplits: 1).last
            return .gone(reason.map(String.init) ?? line)
        }
        // What follows the next semicolon is a place in the server's source.
        let text = words[(code + 1)...].joined(separator: " ").split(separator: ";").first ?? ""
        return DatabaseError(sqlState: String(words[code].dropLast()), message: String(text))
    }
}

/// The passwords of a file in the form of `~/.pgpass` (PostgreSQL's documentation, 34.16): a line
/// `HOST:PORT:DATABASE:USER:PASSWORD` for each, where `*` stands for anything and `\` comes before a
/// `:` or `\` of a field.
///
/// libpq would read the file itself, but not one that a service manager lets a group read, as with
/// `LoadCredential=` (systemd.exec(5)).
struct PasswordFile {
    /// As much as a credential may have (systemd.exec(5)).
    private static let longest = 1 << 20

    private let lines: [Substring]
    private let path: String

    /// Reads a file that nobody but its owner, and for another owner's its group, can read.
    ///
    /// - Throws: `DatabaseError`.
    init(_ path: String) throws(DatabaseError) {
        self.path = path
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        defer { if file >= 0 { close(file) } }
        var status = stat()
        guard file >= 0, fstat(file, &status) == 0 else {
            throw PasswordFile.fault(path, String(cString: strerror(errno)).lowercased())
        }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= PasswordFile.longest else {
            throw PasswordFile.fault(path, "it is no file of at most 1 MiB")
        }
        let others: mode_t = status.st_uid == geteuid() ? 0o077 : 0o007
        guard status.st_mode & others == 0 else {
            throw PasswordFile.fault(path, "others may read it; `chmod 600` keeps it to its owner")
        }
        var bytes = [UInt8](repeating: 0, count: PasswordFile.longest)
        var length = 0
        while length < bytes.count {
            let count = bytes.withUnsafeMutableBytes { buffer in
                read(file, buffer.baseAddress?.advanced(by: length), buffer.count - length)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw PasswordFile.fault(path, String(cString: strerror(errno)).lowercased())
            }
            if count == 0 { break }
            length += count
        }
        // Swift takes the end of a line of Windows for one character.
        lines = String(decoding: bytes[..<length], as: UTF8.self)
            .split { $0 == "\n" || $0 == "\r\n" }
    }

    /// Returns the password of the first line that fits a host of an address.
    ///
    /// - Throws: `DatabaseError` if no line does.
    func password(
        for host: ServerAddress.Host, of address: ServerAddress
    ) throws(DatabaseError) -> String {
        let wanted = [host.name, "\(host.port)", address.database, address.user]
        for line in lines where !line.hasPrefix("#") {
            let fields = PasswordFile.fields(line)
            guard fields.count == 5 else { continue }
            let isFit = zip(fields, wanted).allSatisfy { $0 == "*" || $0 == $1 }
            if isFit { return fields[4] }
        }
        throw PasswordFile.fault(path, "no line is for \(wanted.joined(separator: ":"))")
    }

    private static func fields(_ line: Substring) -> [String] {
        var fields = [""]
        var isEscaped = false
        for character in line {
            if !isEscaped, character == "\\" {
                isEscaped = true
            } else if !isEscaped, character == ":", fields.count < 5 {
                fields.append("")
            } else {
                fields[fields.count - 1].append(character)
                isEscaped = false
            }
        }
        return fields
    }

    private static func fault(_ path: String, _ problem: String) -> DatabaseError {
        DatabaseError(
            kind: .access, message: "cannot use the password file `\(path)`: \(problem)",
            code: "libpq")
    }
}
