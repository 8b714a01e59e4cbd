import Testing

@testable import HealthStore

@Suite("The login of an account at a server")
struct DatabaseLoginTests {
    @Test func `the verifier is the one that SCRAM-SHA-256 makes`() throws {
        // The example of RFC 7677, section 3: its server signature follows from these keys.
        let salt: [UInt8] = [
            0x5B, 0x6D, 0x99, 0x68, 0x9D, 0x12, 0x35, 0x8E, 0xEC, 0xA0, 0x4B, 0x14, 0x12, 0x36,
            0xFA, 0x81,
        ]
        #expect(
            DatabaseLogin(password: "pencil").verifier(salt: salt)
                == "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXku"
                + "LmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=")
    }

    @Test func `each key has a password of its own, always the same`() throws {
        let (one, other) = (try MasterKey.random(), try MasterKey.random())

        #expect(try DatabaseLogin(one).password == DatabaseLogin(one).password)
        #expect(try DatabaseLogin(one).password != DatabaseLogin(other).password)
        #expect(try DatabaseLogin(one).verifier() != DatabaseLogin(one).verifier())
    }
}
