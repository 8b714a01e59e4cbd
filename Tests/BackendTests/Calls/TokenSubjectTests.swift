import HealthModel
import Testing

@testable import Backend
@testable import BackendContract

struct TokenSubjectTests {
    private static let digits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// Encodes a text by RFC 4648, section 5, without padding.
    private static func encoded(_ text: String) -> String {
        var result: [UInt8] = []
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = Array(bytes[start..<min(start + 3, bytes.count)])
            let word = (0..<3).reduce(0) { $0 << 8 | Int($1 < group.count ? group[$1] : 0) }
            for place in 0...group.count { result.append(digits[word >> (18 - 6 * place) & 63]) }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func token(_ claims: String) -> Secret {
        Secret("e30.\(encoded(claims)).c2ln")
    }

    @Test(arguments: [
        (#"{"sub":"user-7"}"#, "user-7"),
        (
            #"{"iss":"x","sub":"9b2f6c1e-0000-4000-8000-000000000001","exp":1}"#,
            "9b2f6c1e-0000-4000-8000-000000000001"
        ),
        // The encoded text has digits that plain base64 does not have.
        (#"{"sub":"u","x":"???>>>~~~"}"#, "u"),
    ])
    func `a token names its user`(claims: String, user: String) {
        #expect(TokenSubject.read(TokenSubjectTests.token(claims)) == user)
    }

    @Test(arguments: [
        "{}", #"{"sub":7}"#, #"{"sub":null}"#, #"{"sub":""}"#, #"{"sub":"a b"}"#,
        #"{"sub":"a\nb"}"#, #"["sub"]"#, "sub", "", #"{"sub":"u""#,
        #"{"sub":"\#(String(repeating: "u", count: 257))"}"#,
    ])
    func `claims that name nobody are passed over`(claims: String) {
        #expect(TokenSubject.read(TokenSubjectTests.token(claims)) == nil)
    }

    @Test(arguments: [
        "", "opaque", "a.b", "a.b.c.d", "..", "e30.e3=.x", "e30.e+/_.x", "e30.eyJzdWIiOiJ1In.x",
        "e30.A.x", "e30.\u{0}.x",
    ])
    func `a text that is no JWT names no user`(text: String) {
        #expect(TokenSubject.read(Secret(text)) == nil)
    }

    @Test func `a token of more than 16 KiB is not read`() {
        let padding = String(repeating: "x", count: 12_000)
        let claims = #"{"sub":"u","x":"\#(padding)"}"#
        let long = #"{"sub":"u","x":"\#(padding)\#(padding)"}"#

        #expect(TokenSubject.read(TokenSubjectTests.token(claims)) == "u")
        #expect(TokenSubject.read(TokenSubjectTests.token(long)) == nil)
    }

    @Test(
        arguments: [
            ("", []), ("Zg", [0x66]), ("Zm8", [0x66, 0x6F]), ("Zm9v", [0x66, 0x6F, 0x6F]),
            ("-_-_", [0xFB, 0xFF, 0xBF]), ("Z", nil), ("Zg==", nil), ("Zm9v+", nil), ("Zm 9", nil),
        ] as [(String, [UInt8]?)])
    func `base64url is read as its RFC has it`(text: String, bytes: [UInt8]?) {
        #expect(TokenSubject.base64URLDecoded(Array(text.utf8)) == bytes)
    }
}
