import Glibc
import Testing

@testable import Import

@Suite(.timeLimit(.minutes(5))) struct ReadAheadSourceTests {
    private func all(_ source: any ByteSource, request: Int) throws -> [UInt8] {
        var text: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: request)
        while true {
            let count = try piece.withUnsafeMutableBytes { try source.read(into: $0) }
            if count == 0 { return text }
            text += piece[..<count]
        }
    }

    @Test(arguments: [1, 5, 64, 100, 1000], [2, 3, 8])
    func `the text comes whole and in order`(request: Int, blocks: Int) throws {
        let text = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let source = ReadAheadSource(
            MemorySource(text, piece: 57), blockSize: 64, blocks: blocks)

        #expect(try all(source, request: request) == text)
        #expect(source.total == 10_000)
        #expect(try all(source, request: request) == [])
    }

    @Test func `what was read before a break comes before the break`() throws {
        let source = ReadAheadSource(
            MemorySource(Array("abcdef".utf8), piece: 2, breaksWith: "wrong checksum"),
            blockSize: 4, blocks: 2)
        var piece = [UInt8](repeating: 0, count: 16)
        var text: [UInt8] = []

        for _ in 0..<3 {
            let count = try piece.withUnsafeMutableBytes { try source.read(into: $0) }
            text += piece[..<count]
        }

        #expect(text == Array("abcdef".utf8))
        for _ in 0..<2 {
            #expect {
                _ = try piece.withUnsafeMutableBytes { try source.read(into: $0) }
            } throws: { ($0 as? ByteSourceBreak)?.reason == "wrong checksum" }
        }
    }

    /// An endless source that counts the reads and records when it is released.
    private final class Endless: ByteSource {
        let attachments: [String: Int64] = [:]
        final class Watch: @unchecked Sendable {
            // The reading thread writes these before it ends; the test reads them after joining it.
            var reads = 0
            var isGone = false
        }

        let total: Int64? = nil
        let watch: Watch

        init(_ watch: Watch) { self.watch = watch }

        deinit { watch.isGone = true }

        func read(into buffer: UnsafeMutableRawBufferPointer) throws(ByteSourceBreak) -> Int {
            watch.reads += 1
            buffer.initializeMemory(as: UInt8.self, repeating: 0x41)
            return buffer.count
        }
    }

    @Test func `a reading that is given up ends the thread and frees its source`() throws {
        let watch = Endless.Watch()
        do {
            let source = ReadAheadSource(Endless(watch), blockSize: 64, blocks: 4)
            var piece = [UInt8](repeating: 0, count: 64)
            for _ in 0..<3 { _ = try piece.withUnsafeMutableBytes { try source.read(into: $0) } }
        }

        #expect(watch.isGone)
        #expect(watch.reads <= 3 + 4)
    }

    @Test func `a source that is never read is never read`() {
        let watch = Endless.Watch()
        do { _ = ReadAheadSource(Endless(watch)) }

        #expect(watch.isGone)
        #expect(watch.reads == 0)
    }
}
