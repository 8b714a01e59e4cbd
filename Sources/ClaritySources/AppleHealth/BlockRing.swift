@preconcurrency import Glibc

/// A few blocks of memory between one thread that fills them and one that empties them.
final class BlockRing {
    private let blocks: [UnsafeMutableRawBufferPointer]
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    /// Signalled whenever one side may go on.
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    // Everything below is accessed only with the mutex held, and so is the handover of blocks. The
    // blocks from `taken` up to `filled` belong to the taker, the others to the filler.
    private var counts: [Int]
    /// The number of blocks filled so far, and the number taken.
    private var filled = 0
    private var taken = 0
    private var hasEnded = false
    private var broken: ByteSourceBreak?
    private var beside: [String: Int64] = [:]
    private var isStopped = false

    /// The rest of the block at `taken`; used by the taker alone.
    private var rest = UnsafeRawBufferPointer(start: nil, count: 0)

    init(blockSize: Int, blocks count: Int) {
        precondition(count >= 2, "a ring of \(count) blocks")
        blocks = (0..<count).map { _ in .allocate(byteCount: blockSize, alignment: 64) }
        counts = Array(repeating: 0, count: count)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
        for block in blocks { block.deallocate() }
    }

    /// Waits for a block that may be filled; returns `nil` once nobody takes any more.
    func free() -> UnsafeMutableRawBufferPointer? {
        withLock {
            while filled - taken == blocks.count, !isStopped { pthread_cond_wait(changed, mutex) }
            return isStopped ? nil : blocks[filled % blocks.count]
        }
    }

    /// Hands over the block that `free` returned, with `count` bytes in it.
    func fill(_ count: Int) {
        withLock {
            counts[filled % blocks.count] = count
            filled += 1
            pthread_cond_signal(changed)
        }
    }

    /// Notes that no block follows the filled ones; `reason` says why, unless this is the end of
    /// the text.
    func end(_ reason: ByteSourceBreak?, attachments: [String: Int64]) {
        withLock {
            hasEnded = true
            broken = reason
            beside = attachments
            pthread_cond_signal(changed)
        }
    }

    /// The files beside the text, once the filler has ended.
    var attachments: [String: Int64] { withLock { beside } }

    /// Notes that nothing more will be taken.
    func stop() {
        withLock {
            isStopped = true
            pthread_cond_signal(changed)
        }
    }

    /// Waits for bytes and copies them; returns 0 at the end.
    func take(into buffer: UnsafeMutableRawBufferPointer) throws(ByteSourceBreak) -> Int {
        if rest.isEmpty {
            let (block, reason) = wait()
            if let reason { throw reason }
            guard let block else { return 0 }
            rest = block
        }
        let count = min(rest.count, buffer.count)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: rest.prefix(count)))
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        if rest.isEmpty {
            withLock {
                taken += 1
                pthread_cond_signal(changed)
            }
        }
        return count
    }

    /// Waits for a filled block. Without one, returns why the text broke off, or nothing at its
    /// end.
    private func wait() -> (UnsafeRawBufferPointer?, ByteSourceBreak?) {
        withLock {
            while filled == taken, !hasEnded { pthread_cond_wait(changed, mutex) }
            guard filled > taken else { return (nil, broken) }
            let place = taken % blocks.count
            return (UnsafeRawBufferPointer(rebasing: blocks[place].prefix(counts[place])), nil)
        }
    }

    private func withLock<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }
}
