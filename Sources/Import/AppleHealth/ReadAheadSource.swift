import Platform

/// Reads another source on a thread of its own, a few blocks ahead of its reader. So an archive is
/// inflated, or a disk waited for, while earlier bytes are scanned.
///
/// The thread ends with the source or with this object, which then waits at most for the block that
/// the thread is reading. If no thread can be created, the source is read directly.
final class ReadAheadSource: ByteSource {
    let total: Int64?
    private let source: any ByteSource
    private let blockSize: Int
    private let blocks: Int
    /// The blocks that the thread may fill; each comes back when it has been taken.
    private let empty: BlockingQueue<[UInt8]>
    private let filled: BlockingQueue<Filled>
    private var thread: JoinedThread?
    private var isStarted = false

    /// The block that is being taken, and the part of it that is left.
    private var block: [UInt8] = []
    private var rest = 0..<0
    private var end: End?

    private enum Filled: Sendable {
        case block([UInt8], count: Int)
        case end(End)
    }

    private struct End: Sendable {
        /// Why the text broke off; `nil` at its end.
        var reason: ByteSourceBreak?
        var attachments: [String: Int64]
    }

    /// - Parameters:
    ///   - source: The source to read; from the first `read` on only the thread uses it.
    ///   - blockSize: The bytes of a block; 256 KiB by default.
    ///   - blocks: The number of blocks, at least 2; 4 by default.
    init(_ source: any ByteSource, blockSize: Int = 1 << 18, blocks: Int = 4) {
        precondition(blocks >= 2, "reading ahead takes two blocks or more, got \(blocks)")
        self.source = source
        self.blockSize = blockSize
        self.blocks = blocks
        total = source.total
        empty = BlockingQueue(room: blocks)
        // One more, for the end.
        filled = BlockingQueue(room: blocks + 1)
    }

    deinit {
        empty.cancel()
        thread?.join()
    }

    /// Complete once the end of the text was read.
    var attachments: [String: Int64] {
        thread == nil ? source.attachments : end?.attachments ?? [:]
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ByteSourceBreak) -> Int {
        if !isStarted {
            isStarted = true
            start()
        }
        guard thread != nil else { return try source.read(into: buffer) }
        if rest.isEmpty, end == nil {
            switch filled.take() {
            case .block(let bytes, let count): (block, rest) = (bytes, 0..<count)
            case .end(let last): end = last
            // Only `cancel` and `finish` end a queue, and nobody calls them.
            case nil: return 0
            }
        }
        if rest.isEmpty, let end {
            if let reason = end.reason { throw reason }
            return 0
        }
        let taken = rest.prefix(buffer.count)
        block.withUnsafeBytes {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[taken]))
        }
        rest = taken.upperBound..<rest.upperBound
        if rest.isEmpty {
            let done = block
            block = []
            _ = empty.put(done)
        }
        return taken.count
    }

    private func start() {
        for _ in 0..<blocks { _ = empty.put([UInt8](repeating: 0, count: blockSize)) }
        let (empty, filled) = (empty, filled)
        // Safe: from here on, only the thread uses the source, unless there is no thread.
        nonisolated(unsafe) let source = source
        do throws(SystemError) {
            thread = try JoinedThread {
                while var block = empty.take() {
                    do throws(ByteSourceBreak) {
                        let count = try block.withUnsafeMutableBufferPointer {
                            bytes throws(ByteSourceBreak) in
                            try source.read(into: UnsafeMutableRawBufferPointer(bytes))
                        }
                        if count > 0 {
                            _ = filled.put(.block(block, count: count))
                            continue
                        }
                        _ = filled.put(.end(End(attachments: source.attachments)))
                    } catch {
                        _ = filled.put(.end(End(reason: error, attachments: source.attachments)))
                    }
                    return
                }
            }
        } catch {
            // Without a thread, the source is read directly.
        }
    }
}
