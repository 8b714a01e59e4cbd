import ClarityHost
import ClarityScheduler
import Platform
@preconcurrency import Glibc

/// The folder that `Benchmarks/run` prepares.
///
/// `bin` contains the programs, and `jobs.yaml` is the shipped job file. Beside them are
/// `history.sql`, `apscheduler_peer.py` and, if the peers could be installed, `venv`.
struct Surroundings: Sendable {
    let folder: String

    var shippedJobFile: String { "\(folder)/jobs.yaml" }

    func program(_ name: String) -> String { "\(folder)/bin/\(name)" }

    /// Returns the number in an environment variable; `nil` if there is none.
    static func number(_ variable: String) -> Int? {
        getenv(variable).flatMap { Int(String(cString: $0)) }
    }

    /// The Python that has APScheduler, or `nil` if it could not be installed.
    var python: String? {
        let path = "\(folder)/venv/bin/python"
        return access(path, X_OK) == 0 ? path : nil
    }

    /// The peer that reads the same exports, or `nil` if it could not be installed.
    var healthkitToSQLite: String? {
        let path = "\(folder)/venv/bin/healthkit-to-sqlite"
        return access(path, X_OK) == 0 ? path : nil
    }

    /// Makes an empty folder for a state directory or a job file.
    func makeFolder(_ name: String) throws -> String {
        let path = "\(folder)/\(name)"
        guard mkdir(path, 0o700) == 0 else { throw Trouble("cannot make folder `\(name)`") }
        return path
    }

    /// Opens the store of a state directory.
    func store(_ path: String) throws -> SQLiteRunStore {
        try SQLiteRunStore(
            in: try StateDirectory(path: path), uniqueNumber: .random(in: 0 ... .max))
    }

    /// Makes a state directory in which none of these jobs is due within the hour.
    func makeQuietState(_ path: String, _ jobs: [JobID]) throws {
        let now = SystemClock().now
        try store(path).decide { _ in
            jobs.map { .setClock($0, JobClock(anchor: now, considered: now + .seconds(3600))) }
        }
    }
}

/// The reason that a measurement could not be taken.
struct Trouble: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Returns the whole text of a file.
func text(of path: String) throws -> String {
    guard let file = fopen(path, "re") else { throw Trouble("cannot read `\(path)`") }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = fread(&chunk, 1, chunk.count, file)
        if count == 0 { return String(decoding: bytes, as: UTF8.self) }
        bytes += chunk[..<count]
    }
}

/// Writes a file, replacing its content.
func write(_ text: String, to path: String) throws {
    guard let file = fopen(path, "we") else { throw Trouble("cannot write `\(path)`") }
    defer { fclose(file) }
    fputs(text, file)
}

/// Returns the wall clock in milliseconds since 1970, with a fraction.
func wallMilliseconds() -> Double { milliseconds(CLOCK_REALTIME) }

/// Returns a clock that never steps, in milliseconds.
func steadyMilliseconds() -> Double { milliseconds(CLOCK_MONOTONIC) }

private func milliseconds(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) * 1000 + Double(time.tv_nsec) / 1_000_000
}

func pause(milliseconds: Int) { usleep(UInt32(milliseconds) * 1000) }
