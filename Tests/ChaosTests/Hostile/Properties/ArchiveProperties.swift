import ClarityScheduler

@testable import Import

/// Checks that an archive is read to its end or to where it breaks, within the limit, whatever its
/// headers say.
enum ArchiveProperties {
    /// The largest number of bytes that an archive may inflate to here.
    private static let limit: Int64 = 1 << 20

    static func makeCheck() throws -> FuzzTarget.Check {
        let file = try MemoryFile()
        return { bytes in
            try file.hold(bytes)
            try check(file.path)
        }
    }

    private static func check(_ path: String) throws {
        let source: ArchiveSource
        do throws(SourceError) {
            source = try ArchiveSource(OpenFile(path: path), path: "export.zip", limit: limit)
        } catch {
            return
        }
        var total: Int64 = 0
        do throws(ByteSourceBreak) {
            while true {
                let count = try withBuffer { buffer throws(ByteSourceBreak) in
                    try source.read(into: buffer)
                }
                if count == 0 { break }
                total += Int64(count)
            }
        } catch {
            total += 0
        }
        try require(total <= limit, "more than the limit is inflated")
        try require(
            source.attachments.keys.allSatisfy { name in
                Attachments.allCases.contains { $0.rawValue == name }
            }, "a count with the archive's own words")
    }

    private static func withBuffer<Result>(
        _ body: (UnsafeMutableRawBufferPointer) throws(ByteSourceBreak) -> Result
    ) throws(ByteSourceBreak) -> Result {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
        defer { buffer.deallocate() }
        return try body(buffer)
    }
}
