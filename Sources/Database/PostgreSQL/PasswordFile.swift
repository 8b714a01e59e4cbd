@preconcurrency import Glibc

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
