@preconcurrency import Glibc
import Testing

@testable import HealthStore

@Suite struct ContentMarkTests {
    private let folder = StateFolder()

    private func mark(_ name: String, like other: ContentMark? = nil) -> ContentMark? {
        ContentMark(ofFile: "\(folder.path)/\(name)", like: other) { false }
    }

    @Test func `the same bytes have the same mark, under whatever name`() throws {
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        folder.write(bytes, to: "a")
        folder.write(bytes, to: "b")

        let first = try #require(mark("a"))

        #expect(mark("a", like: first) == first)
        #expect(mark("b", like: first) == first)
    }

    @Test(arguments: [0, 1_048_575, 1_048_576, 2_999_999])
    func `one other byte is another mark, wherever it is`(place: Int) throws {
        var bytes = [UInt8](repeating: 1, count: 3_000_000)
        folder.write(bytes, to: "a")
        let first = try #require(mark("a"))

        bytes[place] ^= 1
        folder.write(bytes, to: "a")

        #expect(mark("a", like: first) != first)
    }

    @Test func `a byte more or less is another mark`() throws {
        folder.write([0, 0, 0], to: "a")
        let first = try #require(mark("a"))

        for bytes: [UInt8] in [[], [0, 0], [0, 0, 0, 0]] {
            folder.write(bytes, to: "a")
            #expect(mark("a", like: first) != first)
        }
    }

    @Test func `a mark has a key of its own unless it is to be compared`() throws {
        folder.write([1], to: "a")

        let first = try #require(mark("a"))
        let second = try #require(mark("a"))

        #expect(first.key != second.key)
        #expect(first.key.count == 32 && first.code.count == 16)
    }

    @Test func `a file that cannot be read, or not to its end, has no mark`() {
        folder.write([1], to: "a")

        #expect(mark("missing") == nil)
        #expect(ContentMark(ofFile: folder.path, like: nil) { false } == nil)
        #expect(ContentMark(ofFile: "\(folder.path)/a", like: nil) { true } == nil)
    }

    @Test func `an error of the callback ends the reading`() {
        struct Ended: Error {}
        folder.write([1], to: "a")

        #expect(throws: Ended.self) {
            try ContentMark(ofFile: "\(folder.path)/a", like: nil) { throw Ended() }
        }
    }
}

extension ContentMark {
    /// Computes the mark of the file at `path`.
    init?(ofFile path: String, like other: ContentMark?, isStopped: () throws -> Bool) rethrows {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        try self.init(of: descriptor, like: other, isStopped: isStopped)
    }
}
