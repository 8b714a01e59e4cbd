import ClarityTestSupport
import Glibc
import Testing

@testable import Database

@Suite("A file with passwords")
struct PasswordFileTests {
    private let folder: TemporaryFolder
    private var path: String { "\(folder.path)/pass" }

    init() throws { folder = try TemporaryFolder() }

    private func password(
        _ text: String, _ address: ServerAddress
    ) throws -> String {
        try folder.write("pass", Array(text.utf8))
        return try PasswordFile(path).password(for: address)
    }

    @Test(arguments: [
        ("h:5432:d:u:one", "one"),
        ("# h:5432:d:u:none\n\nnonsense\nother:*:*:*:two\n*:*:*:u:one\n*:*:*:*:three", "one"),
        ("h:5432:d:u:a\\:b\\\\c:d", "a:b\\c:d"),
        ("h:5432:d:u:", ""),
        ("# h:5432:d:u:none\r\nother:*:*:*:two\r\nh:5432:d:u:one \r\n*:*:*:*:three\r\n", "one "),
    ])
    func `the first line that fits has the password`(text: String, wanted: String) throws {
        #expect(
            try password(text, ServerAddress(host: "h", database: "d", user: "u")) == wanted)
    }

    @Test func `a field with a colon matches its escaped form`() throws {
        let address = ServerAddress(host: "::1", port: 5433, database: "d", user: "u/anna")
        #expect(try password("\\:\\:1:5433:d:u/anna:one", address) == "one")
    }

    @Test func `a file that others may read is not used, and one without a line says so`() throws {
        let address = ServerAddress(host: "h", database: "d", user: "u")
        func message() -> String? {
            #expect(throws: DatabaseError.self) {
                try PasswordFile(path).password(for: address)
            }?.message
        }
        #expect(message()?.contains("no such file") == true)
        try folder.write("pass", Array("h:1:d:u:hidden".utf8))
        try #require(chmod(path, 0o600) == 0)
        #expect(message()?.hasSuffix("no line is for h:5432:d:u") == true)
        for mode: mode_t in [0o640, 0o604] {
            try #require(chmod(path, mode) == 0)
            #expect(message()?.contains("others may read it") == true)
        }
        try #require(mkfifo("\(folder.path)/fifo", 0o600) == 0)
        #expect(throws: DatabaseError.self) { try PasswordFile("\(folder.path)/fifo") }
    }

    @Test(.enabled(if: getuid() == 0, "only root can give a file away"))
    func `a file of the service manager may be for a group`() throws {
        try folder.write("pass", Array("*:*:*:*:one".utf8))
        try #require(chown(path, 1, 0) == 0 && chmod(path, 0o640) == 0)
        #expect(
            try PasswordFile(path).password(
                for: ServerAddress(host: "h", database: "d", user: "u")) == "one")
    }
}

extension PasswordFile {
    fileprivate func password(for address: ServerAddress) throws -> String {
        try password(for: address.hosts[0], of: address)
    }
}
