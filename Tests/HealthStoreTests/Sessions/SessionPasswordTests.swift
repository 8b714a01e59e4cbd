@preconcurrency import Glibc
import Testing

@testable import HealthStore
@testable import HealthModel

@Suite struct SessionPasswordTests {
    private let folder = StateFolder()
    private let name = "clarity-jobs.password"

    private func load() throws -> Secret? {
        try SessionPassword.load(["CREDENTIALS_DIRECTORY": folder.path])
    }

    private func refusal() -> String? {
        #expect(throws: SessionPasswordError.self) { try load() }?.description
    }

    @Test(arguments: [
        ("pw", "pw"), ("pw\n", "pw"), ("pw\r\n", "pw"), (" p w \n", " p w "), ("pä", "pä"),
    ])
    func `a password is the file's one line`(content: String, password: String) throws {
        folder.write(Array(content.utf8), to: name, mode: 0o440)

        #expect(try load() == Secret(password))
    }

    @Test func `the longest password has 1024 bytes`() throws {
        folder.write(Array(repeating: 0x61, count: 1024) + [0x0A], to: name)
        let longest = try load()
        folder.write(Array(repeating: 0x61, count: 1025) + [0x0A], to: name)

        #expect(longest?.reveal().utf8.count == 1024)
        #expect(
            refusal()
                == "the password `\(folder.path)/\(name)` is not one line of 1 to 1024 bytes")
    }

    @Test(arguments: [[], [0x0A], [0x61, 0x0A, 0x62], [0x61, 0x00], [0xFF, 0xFE]] as [[UInt8]])
    func `a password that is no line of text is refused`(content: [UInt8]) {
        folder.write(content, to: name)

        #expect(
            refusal()
                == "the password `\(folder.path)/\(name)` is not one line of 1 to 1024 bytes")
    }

    @Test func `a file that others may read is refused`() {
        folder.write(Array("pw".utf8), to: name, mode: 0o604)

        #expect(
            refusal()
                == "the password `\(folder.path)/\(name)` is open to others (mode 0604); make it "
                + "0600")
    }

    @Test func `a pipe is refused without waiting for a writer`() {
        mkfifo("\(folder.path)/\(name)", 0o600)

        #expect(refusal() == "the password `\(folder.path)/\(name)` is no ordinary file")
    }

    @Test func `without a credential there is no password`() throws {
        for directory in [nil, "", "\(folder.path)/none"] {
            let environment = directory.map { ["CREDENTIALS_DIRECTORY": $0] } ?? [:]

            #expect(try SessionPassword.load(environment) == nil)
        }
    }
}
