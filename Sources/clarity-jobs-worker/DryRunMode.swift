import ClarityScheduler
import Platform
import ClarityJobs
import Reports
import JSON
@preconcurrency import Glibc

/// Shows what an order would do. The order on the standard input ends with `end` or with the input.
enum DryRunMode {
    static func run(_ arguments: [String]) async -> ExitStatus {
        guard let flags = Flags(arguments, values: ["output"]) else {
            return Program.usageError("expected `dry-run` with an order")
        }
        guard let order = OrderInput.read() else { return .faultyInput }
        // A dry run as of another time has an order that is scheduled for that time.
        let outcome = await DryRun.run(
            order, environment: keyEnvironment(named: order.options["key.variable"]),
            clock: FixedClock(order.scheduledFor),
            show: { if flags.format == .table { show([$0], order) } },
            // For people, everything was shown on the way.
            report: { result in flags.format.print(result.object) { [] } })
        return ExitStatus(outcome)
    }
}

/// Reads an order up to its line `end`.
enum OrderInput {
    /// Returns the order on a descriptor; `nil` if it is faulty, after writing why to the error
    /// output.
    ///
    /// Reads byte by byte: what follows the order is not its own.
    ///
    /// - Parameter endsWithInput: whether the end of the input may stand for the last line.
    static func read(
        from descriptor: Int32 = STDIN_FILENO, named name: String = "the standard input",
        endsWithInput: Bool = true
    ) -> AttemptOrder? {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        var lines: [String] = []
        while lines.last != "end" {
            let count = Glibc.read(descriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            if count == 1, byte != UInt8(ascii: "\n") {
                bytes.append(byte)
                continue
            }
            guard count == 1 || endsWithInput else {
                complain("no whole order on \(name)")
                return nil
            }
            if count == 1 || !bytes.isEmpty { lines.append(String(decoding: bytes, as: UTF8.self)) }
            bytes.removeAll(keepingCapacity: true)
            guard count == 1 else { break }
        }
        do {
            return try AttemptOrder(lines: lines)
        } catch {
            complain("the order on \(name) is faulty: expected \(error.expected)")
            return nil
        }
    }
}
