import ClarityTestSupport
import Testing

@testable import clarity_jobs_sandbox

@Suite struct SHA256Tests {
    @Test(arguments: [
        // NIST's examples for FIPS 180-4.
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            LongText("a", times: 10_000),
            "27dd1f61b867b6a0f6e9d8a41c43231de52107e53ae424de8f847b821db4b711"
        ),
    ])
    func `digests are those of the standard`(_ text: LongText, _ digest: String) {
        let found = SHA256.digest(Array(text.text.utf8)).hexadecimal

        #expect(found == digest)
    }

    @Test func `codes are those of RFC 4231`() {
        let short = HMAC(key: Array("Jefe".utf8)).code(
            Array("what do ya want for nothing?".utf8))
        let long = HMAC(key: [UInt8](repeating: 0xAA, count: 131)).code(
            Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8))

        #expect(
            short.hexadecimal
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        #expect(
            long.hexadecimal
                == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
    }
}
