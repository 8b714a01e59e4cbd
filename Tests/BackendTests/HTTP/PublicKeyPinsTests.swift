import Testing

@testable import Backend
@testable import BackendContract

struct PublicKeyPinsTests {
    private static let one = "sha256//" + String(repeating: "A", count: 43) + "="
    private static let two = "sha256//" + String(repeating: "b+/9", count: 10) + "b+8="

    @Test func `two pins and more are handed to libcurl`() throws {
        let pins = try PublicKeyPins([PublicKeyPinsTests.one, PublicKeyPinsTests.two])

        #expect(pins.text == "\(PublicKeyPinsTests.one);\(PublicKeyPinsTests.two)")
    }

    @Test(arguments: [
        [], [one], [one, one], [one, ""], [one, "sha256//"], [one, "sha256/" + two.dropFirst(8)],
        [one, "sha1//" + two.dropFirst(8)], [one, two + "="], [one, String(two.dropLast())],
        // The last letter encodes more than 256 bits.
        [one, two.replacing("b+8=", with: "b+9=")], [one, two.replacing("/9", with: "-9")],
        [one, two + ";" + one], [one, two.replacing("b+8=", with: "b+é=")],
        [one, "/etc/backend.pub"], [one, two, "x"],
    ])
    func `fewer, and what is no pin, are refused with one sentence`(pins: [String]) {
        #expect(
            throws: TransportError.refused(
                "`backend.pins` wants at least two different pins, one of them of a backup key, "
                    + "each `sha256//` and the 44 characters of a digest in base64")
        ) { try PublicKeyPins(pins) }
    }
}
