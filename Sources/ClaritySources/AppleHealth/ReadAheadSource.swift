@preconcurrency import Glibc

/// Reads another source on a thread of its own, a few blocks ahead of its reader. So an archive is
/// inflated, or a disk waited for, while earlier bytes are scanned.
///
/// The thread ends with the source or with this object, which then waits at most for the block that
/// the thread is reading. If no thread can be created, the source is read directly.
final class ReadAheadSource: ByteSource {
    let total: Int64?
    private let source: any ByteSource
    private let ring: BlockRing
    private var thread: pthread_t?
    private var isStarted = false

    /// - Parameters:
    ///   - source: The source to read; from the first `read` on only the thread uses it.
    ///   - blockSize: The bytes of a block; 256 KiB by default.
    ///   - blocks: The number of blocks, at least 2; 4 by default.
    init(_ source: any ByteSource, blockSize: Int = 1 << 18, blocks: Int = 4) {
        self.source = source
        total = source.total
        ring = BlockRing(blockSize: blockSize, blocks: blocks)
    }

    deinit {
        ring.stop()
        if let thread { pthread_join(thread, nil) }
    }

    /// Complete once the end of the text was read.
    var attachments: [String: Int64] { thread == nil ? source.attachments : ring.attachments }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ByteSourceBreak) -> Int {
        if !isStarted {
            isStarted = true
            thread = start()
        }
        return try thread == nil ? source.read(into: buffer) : ring.take(into: buffer)
    }

    private func start() -> pthread_t? {
        // Signals are for the threads that wait for them; a new thread inherits the mask.
        let masks = UnsafeMutablePointer<sigset_t>.allocate(capacity: 2)
        defer { masks.deallocate() }
        sigfillset(masks)
        pthread_sigmask(SIG_SETMASK, masks, masks + 1)
        defer { pthread_sigmask(SIG_SETMASK, masks + 1, nil) }
        let work = Unmanaged.passRetained(ReadAheadWork(source: source, ring: ring))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { work in
                guard let work else { return nil }
                Unmanaged<ReadAheadWork>.fromOpaque(work).takeRetainedValue().run()
                return nil
            }, work.toOpaque())
        guard code == 0 else {
            work.release()
            return nil
        }
        return thread
    }
}

/// The work of the thread.
private final class ReadAheadWork {
    private let source: any ByteSource
    private let ring: BlockRing

    init(source: any ByteSource, ring: BlockRing) {
        self.source = source
        self.ring = ring
    }

    func run() {
        while let block = ring.free() {
            do throws(ByteSourceBreak) {
                let count = try source.read(into: block)
                guard count > 0 else {
                    ring.end(nil, attachments: source.attachments)
                    return
                }
                ring.fill(count)
            } catch {
                ring.end(error, attachments: source.attachments)
                return
            }
        }
    }
}
