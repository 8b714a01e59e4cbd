import ClarityScheduler
import Glibc
import Testing

@testable import ClarityHost

/// Runs shell scripts as workers: real processes, whose code is in the test.
enum ScriptWorker {
    /// `report` writes one line; `order` reads the order up to its `end`.
    private static let prelude = """
        report() { printf '%s\\n' "$*" >&4; }
        order() { while IFS= read -r line <&3 && [ "$line" != end ]; do :; done; }

        """

    static func make(
        _ script: String, environment: [String: String] = [:], proof: AttemptProof? = nil
    ) -> ProcessWorker {
        ProcessWorker(
            executable: ["/bin/sh", "-c", prelude + script], environment: environment,
            proof: proof)
    }

    static func order(
        memoryLimitBytes: Int64 = 1 << 30, options: [String: String] = [:]
    ) throws -> AttemptOrder {
        AttemptOrder(
            run: RunID(7), job: try #require(JobID("com.clarity.refresh")),
            kind: JobKind("refresh"), attempt: 2, fencingToken: 11,
            scheduledFor: Instant(secondsSince1970: 1_700_000_000), timeout: .seconds(30),
            warning: .seconds(5), memoryLimitBytes: memoryLimitBytes, checkpoint: "page 4",
            options: options)
    }

    /// Runs a script to its end; `onProgress` gets each progress report and a way to send signals.
    static func run(
        _ script: String, order: AttemptOrder? = nil, environment: [String: String] = [:],
        proof: AttemptProof? = nil,
        onProgress:
            @escaping @Sendable (
                Int64, Int64, AsyncStream<AttemptSignal>.Continuation
            ) -> Void = { _, _, _ in }
    ) async throws -> AttemptEnd {
        let (signals, continuation) = AsyncStream.makeStream(of: AttemptSignal.self)
        return await make(script, environment: environment, proof: proof).run(
            try order ?? self.order(), signals: signals
        ) { onProgress($0, $1, continuation) }
    }

    /// Returns whether this process has that child; one that has ended but is not reaped counts
    /// too. The kernel may give the number of a reaped child to a process of somebody else.
    static func hasChild(_ process: Int64) -> Bool {
        var information = siginfo_t()
        return waitid(P_PID, id_t(process), &information, WEXITED | WNOHANG | WNOWAIT) == 0
    }

    /// Returns whether a process still runs; one that has ended but is not reaped does not.
    static func isAlive(_ process: Int64) -> Bool {
        let file = open("/proc/\(process)/stat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = max(0, read(file, &bytes, bytes.count))
        let text = String(decoding: bytes[..<count], as: UTF8.self)
        let state = text.split(separator: ") ").last?.first
        return state != nil && state != "Z" && state != "X"
    }
}
