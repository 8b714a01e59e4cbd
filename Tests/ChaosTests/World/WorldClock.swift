import ClarityTestSupport
@testable import ProgramTestSupport
import Glibc

/// Clocks that the test moves, for programs that are started with its environment.
///
/// The fault library (Faultline) provides them. The wall clock shows what the test sets, and a
/// suspend is time that CLOCK_BOOTTIME counts and CLOCK_MONOTONIC does not. Timers of the kernel
/// that are running do not notice, as they would with the kernel's own clocks.
struct WorldClock {
    static let hour: Int64 = 3_600_000

    private let path: String
    private let folder: TemporaryFolder

    init(in folder: TemporaryFolder) throws {
        self.folder = folder
        path = "\(folder.path)/clock"
        try set(wall: 0, suspended: 0)
    }

    var environment: [String: String] {
        ["LD_PRELOAD": Faultline.library, "FAULTLINE_CLOCK": path]
    }

    /// Sets by how many milliseconds the wall clock is ahead, and for how many the machine has
    /// slept. The change takes effect at once in every process.
    func set(wall: Int64, suspended: Int64) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw TemporaryFolder.Errno(code: errno) }
        defer { close(file) }
        let numbers = [wall, suspended]
        let size = numbers.count * 8
        // Writes in place, because the programs have the file mapped.
        guard pwrite(file, numbers, size, 0) == size else {
            throw TemporaryFolder.Errno(code: errno)
        }
    }
}
