import CLinux
import ClarityScheduler
import Platform
@preconcurrency import Glibc

/// Until when a server leaves its runs to this process for certain, in memory that the keepers of its
/// commands share.
///
/// A keeper ends its command when the time is over. So a command of a loop that is frozen or cut off
/// has ended before the server lets another loop start it again.
final class LeaseSpan: @unchecked Sendable {
    // `@unchecked`: one aligned word, which one thread writes. The keepers read it as a whole.
    private let word: UnsafeMutablePointer<Int64>
    /// The memory, for a keeper to inherit.
    let descriptor: Int32

    private static let size = MemoryLayout<Int64>.size

    /// - Throws: `StateDirectoryError` if the system gives no memory.
    init() throws(StateDirectoryError) {
        descriptor = clinux_memory_file()
        guard descriptor >= 0, ftruncate(descriptor, LeaseSpan.size) == 0,
            let memory = mmap(
                nil, LeaseSpan.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            memory != MAP_FAILED
        else { throw StateDirectoryError(path: "the memory of the leases", errno: errno) }
        word = memory.bindMemory(to: Int64.self, capacity: 1)
    }

    deinit {
        munmap(word, LeaseSpan.size)
        close(descriptor)
    }

    /// Extends the time until `elapsed`, as the clock of elapsed time shows it.
    func extend(to elapsed: Duration) {
        let (seconds, attoseconds) = elapsed.components
        word.pointee = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    /// Ends the time now.
    func end() { word.pointee = 0 }
}
