import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc
import Testing

/// Damage to a database's file while no process uses it.
struct Damage: CustomStringConvertible {
    enum Kind: String, CaseIterable {
        /// One bit flips.
        case flip
        case zeroedPage, garbagePage
        /// The file is truncated at a page, or within one.
        case cutAtPage, cutWithinPage
        /// Random bytes replace the whole file.
        case garbage
    }

    let file: String
    let kind: Kind
    let page: Int
    let offset: Int
    let seed: UInt64

    init(using random: inout some RandomNumberGenerator, pages: (String) throws -> Int) rethrows {
        file = KeptState.names.randomElement(using: &random) ?? "health.db"
        // A flipped bit and a damaged page are twice as likely as any other kind.
        kind =
            (Kind.allCases + [.flip, .zeroedPage, .garbagePage]).randomElement(using: &random)
            ?? .flip
        page = Int.random(in: 0..<(try pages(file)), using: &random)
        offset = Int.random(in: 0..<4096, using: &random)
        seed = random.next()
    }

    var description: String { "\(kind.rawValue) of \(file), page \(page), byte \(offset)" }

    /// Damages the file at a path.
    func strike(_ path: String) throws {
        var bytes = try TemporaryFolder.read(path)
        let start = page * 4096
        var noise = seed | 1
        func random() -> UInt8 {
            noise = noise &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: noise >> 33)
        }
        switch kind {
        case .flip: bytes[start + offset] ^= 1 << UInt8(truncatingIfNeeded: seed & 7)
        case .zeroedPage: for place in start..<(start + 4096) { bytes[place] = 0 }
        case .garbagePage: for place in start..<(start + 4096) { bytes[place] = random() }
        // Never to zero bytes: an empty file counts as one that was never begun.
        case .cutAtPage: bytes = Array(bytes[..<max(start, 4096)])
        case .cutWithinPage: bytes = Array(bytes[..<(start + max(offset, 1))])
        case .garbage: bytes = bytes.map { _ in random() }
        }
        try Damage.overwrite(path, bytes)
    }

    /// Replaces the content of a file in place.
    static func overwrite(_ path: String, _ bytes: [UInt8]) throws {
        let descriptor = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        try #require(write(descriptor, bytes, bytes.count) == bytes.count)
    }
}
