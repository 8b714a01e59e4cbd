import ClarityScheduler
import Platform
import Glibc

/// Passes an order to the program that replaces this one, on its standard input.
enum OrderHandover {
    /// Makes the order this process's standard input.
    ///
    /// An order is far smaller than the capacity of a pipe (64 KiB, pipe(7)), so it can be written
    /// completely before anybody reads.
    static func give(_ order: AttemptOrder) throws(CommandFailure) {
        let bytes = Array(order.lines.map { $0 + "\n" }.joined().utf8)
        var ends: [Int32] = [0, 0]
        guard bytes.count <= 60 << 10, pipe(&ends) == 0 else {
            throw CommandFailure(.internalFault, "cannot hand the order to the worker")
        }
        guard write(ends[1], bytes, bytes.count) == bytes.count, dup2(ends[0], STDIN_FILENO) == 0
        else { throw CommandFailure(.internalFault, "cannot hand the order to the worker") }
        close(ends[0])
        close(ends[1])
    }
}
