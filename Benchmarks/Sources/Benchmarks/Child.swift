@preconcurrency import Glibc

/// A running program with nothing on its standard input.
final class Child {
    let processID: pid_t

    /// Starts a program; its output goes to the given files, or is discarded.
    init(
        _ words: [String], adding variables: [String: String] = [:], output: String = "/dev/null",
        errors: String? = nil
    ) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let fresh = O_WRONLY | O_CREAT | O_TRUNC
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, fresh, 0o600)
        if let errors { posix_spawn_file_actions_addopen(&actions, 2, errors, fresh, 0o600) }
        var environment = variables.map { strdup("\($0.key)=\($0.value)") }
        var next = environ
        while let variable = next.pointee {
            environment.append(strdup(variable))
            next += 1
        }
        let vector = words.map { strdup($0) } + [nil]
        defer { (vector + environment).forEach { free($0) } }
        var child: pid_t = 0
        let code = posix_spawnp(&child, words[0], &actions, nil, vector, environment + [nil])
        guard code == 0 else {
            throw Trouble("cannot start `\(words[0])`: \(String(cString: strerror(code)))")
        }
        processID = child
    }

    func send(_ signal: Int32) { kill(processID, signal) }

    /// Waits for the end, and returns the exit status, or 128 plus the signal that ended the
    /// program.
    @discardableResult
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(processID, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    }

    /// Runs a program to its end.
    ///
    /// - Throws: `Trouble` if it cannot be started, or ends with another status than 0.
    static func run(_ words: [String], output: String = "/dev/null") throws {
        let status = try Child(words, output: output).wait()
        guard status == 0 else { throw Trouble("`\(words[0])` ended with status \(status)") }
    }
}

/// The times and the memory of a program's runs.
struct Trial {
    var milliseconds: Measurement
    var peakMiB: Measurement
}

extension Surroundings {
    /// Runs programs in turn, `rounds` times each, after one round that does not count.
    func timeInTurn(_ programs: [[String]], rounds: Int) throws -> [Trial] {
        let output = "\(folder)/timed.txt"
        let words = programs.flatMap { ["--"] + $0 }
        try Child.run([program("timed"), String(rounds + 1)] + words, output: output)
        var times = programs.map { _ in [Double]() }
        var peaks = times
        let lines = try text(of: output).split(separator: "\n").dropFirst(programs.count)
        for line in lines {
            let fields = line.split(separator: " ").compactMap { Int($0) }
            guard fields.count == 3 else { throw Trouble("`timed` wrote something else") }
            times[fields[0]].append(Double(fields[1]) / 1_000_000)
            peaks[fields[0]].append(Double(fields[2]) / 1024)
        }
        return zip(times, peaks).map {
            Trial(milliseconds: Measurement($0), peakMiB: Measurement($1))
        }
    }
}
