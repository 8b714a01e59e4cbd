import ClarityScheduler
@preconcurrency import Glibc

/// The smallest worker: records when it started, reads its order and reports success.
///
/// If `BENCHMARK_STARTS` is in the environment, it appends the instant of its start to that file, a
/// line of nanoseconds since 1970.
@main
enum Worker {
    static func main() {
        // It forks for nobody: the loop starts a process for each attempt, after one refusal.
        if CommandLine.arguments.contains("fork-server") { exit(64) }
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        if let path = getenv("BENCHMARK_STARTS") {
            let file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
            put("\(time.tv_sec * 1_000_000_000 + time.tv_nsec)\n", on: file)
            close(file)
        }
        guard (try? AttemptOrder(lines: readOrder())) != nil else { exit(65) }
        put(AttemptReport.outcome(.success).line + "\n", on: 4)
    }

    private static func readOrder() -> [String] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while !bytes.elementsEqual("end\n".utf8), !bytes.suffix(5).elementsEqual("\nend\n".utf8) {
            let count = read(3, &chunk, chunk.count)
            if count <= 0 { exit(65) }
            bytes += chunk[..<count]
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private static func put(_ text: String, on descriptor: Int32) {
        let bytes = Array(text.utf8)
        _ = write(descriptor, bytes, bytes.count)
    }
}
