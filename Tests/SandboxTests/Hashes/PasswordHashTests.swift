import Testing

@testable import clarity_jobs_sandbox

@Suite struct PasswordHashTests {
    @Test func `keys are those of RFC 7914`() {
        let once = PBKDF2.key(
            password: Array("passwd".utf8), salt: Array("salt".utf8), iterations: 1, count: 64)

        #expect(
            once.hexadecimal
                == "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"
                + "49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783")
    }

    @Test func `iterations are chained`() {
        let key = PBKDF2.key(
            password: Array("password".utf8), salt: Array("salt".utf8), iterations: 4096, count: 32)

        #expect(
            key.hexadecimal == "c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a")
    }

    @Test func `a hash knows its password and no other`() {
        let hash = PasswordHash("Correct-Horse1", salt: [1, 2, 3], iterations: 3)

        #expect(hash.matches("Correct-Horse1"))
        #expect(!hash.matches("Correct-Horse2"))
        #expect(!hash.matches(""))
        #expect(PasswordHash("Correct-Horse1", salt: [1, 2, 4], iterations: 3) != hash)
    }
}
