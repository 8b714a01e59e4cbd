import ClarityScheduler
import ClarityTestSupport
import Testing

@testable import Platform

@Suite struct BackupManifestTests {
    private static let manifest = BackupManifest(
        madeAt: Instant(secondsSince1970: 1_763_618_400), reason: .beforeMigration,
        program: "0.1.0", key: "00112233aabbccdd",
        files: [
            .init(name: "history.db", version: 4, sizeBytes: 4096, digest: "ab"),
            .init(name: "health.db", version: 11, sizeBytes: 8192, digest: "cd"),
        ])

    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            LongText("a", times: 1_000),
            "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"
        ),
    ])
    func `digests are those of the standard`(text: LongText, digest: String) {
        #expect(SHA256.hex(of: text.text.utf8) == digest)
    }

    @Test func `bytes that come in pieces have the digest of all of them`() {
        let bytes = (0..<500).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for size in [1, 3, 55, 63, 64, 65, 200] {
            var digest = SHA256()
            for start in stride(from: 0, to: bytes.count, by: size) {
                bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { digest.update($0) }
            }
            #expect(digest.finish() == SHA256.hex(of: bytes), "in pieces of \(size)")
        }
    }

    @Test func `a manifest is read as it was written`() {
        #expect(BackupManifest(text: Self.manifest.text) == Self.manifest)
        var plain = Self.manifest
        plain.key = nil
        #expect(BackupManifest(text: plain.text) == plain)
    }

    @Test func `no manifest with a changed, missing or added byte is read`() {
        let bytes = Array(Self.manifest.text.utf8)
        for place in bytes.indices {
            var changed = bytes
            changed[place] ^= 1
            #expect(BackupManifest(text: String(decoding: changed, as: UTF8.self)) == nil)
            #expect(BackupManifest(text: String(decoding: bytes[..<place], as: UTF8.self)) == nil)
        }
        #expect(BackupManifest(text: Self.manifest.text + "\n") == nil)
    }

    @Test(arguments: ["../health.db", ".hidden", "a/b", ""])
    func `a file's name never leads out of the backup`(name: String) {
        var manifest = Self.manifest
        manifest.files[0].name = name

        #expect(BackupManifest(text: manifest.text) == nil)
    }
}
