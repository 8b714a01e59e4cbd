import ClarityScheduler
@preconcurrency import Glibc

/// Measures what a loop with nothing to do costs.
struct Idle {
    private let surroundings: Surroundings
    private let count = 1000
    private let seconds = 60

    init(_ surroundings: Surroundings) { self.surroundings = surroundings }

    func measure() throws -> Section {
        let state = try surroundings.makeFolder("idle")
        let jobFile = "\(surroundings.folder)/idle.yaml"
        try write(JobFileText.mixed(count), to: jobFile)
        try surroundings.makeQuietState(state, (0..<count).compactMap { JobID("job-\($0)") })
        let loop = try Child(
            [
                surroundings.program("clarity-jobs"), "loop", "--config", jobFile, "--state",
                state,
            ], errors: "\(surroundings.folder)/idle.log")
        defer {
            loop.send(SIGTERM)
            loop.wait()
        }
        pause(milliseconds: 5000)
        let before = try switches(of: loop)
        pause(milliseconds: seconds * 1000)
        let after = try switches(of: loop)
        let resident = try loop.status("VmRSS:") / 1024
        let peak = try loop.status("VmHWM:") / 1024

        var section = Section(title: "An idle loop with 1,000 jobs")
        section.add(
            Section.Figure(
                what: "resident memory after settling", value: "\(decimal(resident)) MiB",
                beside: "at its peak: \(decimal(peak)) MiB", target: "at most 25 MiB",
                isMet: resident <= 25))
        section.add(
            Section.Figure(
                what: "context switches in \(seconds) s", value: "\(after - before)",
                target: "0 without cause", isMet: after == before))
        if let calls = try systemCalls(of: loop) {
            section.add(
                Section.Figure(
                    what: "system calls in \(seconds) s", value: "\(calls.count)",
                    beside: Set(calls).sorted().joined(separator: ", "), target: "0 without cause",
                    isMet: calls.isEmpty))
        } else {
            section.notes.append("There is no `strace` here, or it may not trace.")
        }
        section.notes.append(
            "`clarity-jobs loop`, \(count) jobs with schedules and constraints of all forms, none due "
                + "within the hour; voluntary switches of all threads, then their system calls "
                + "(`strace -f`), \(seconds) s each, from 5 s after the start.")
        return section
    }

    private func switches(of loop: Child) throws -> Int {
        Int(
            try loop.tasks().reduce(0) {
                try $0 + loop.status("voluntary_ctxt_switches:", ofTask: $1)
            })
    }

    /// Returns the names of the system calls that the loop made, without those that attaching
    /// causes; `nil` if it cannot be traced.
    private func systemCalls(of loop: Child) throws -> [String]? {
        let output = "\(surroundings.folder)/strace.txt"
        guard
            let trace = try? Child(
                ["strace", "-f", "-qq", "-ttt", "-o", output, "-p", "\(loop.processID)"],
                errors: "/dev/null")
        else { return nil }
        // Attaching interrupts blocked calls, which the kernel then restarts.
        pause(milliseconds: 1000)
        let start = wallMilliseconds() / 1000
        pause(milliseconds: seconds * 1000)
        let end = wallMilliseconds() / 1000
        trace.send(SIGINT)
        guard trace.wait() == 0 || access(output, R_OK) == 0 else { return nil }
        return try text(of: output).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ", maxSplits: 2)
            guard words.count == 3, let instant = Double(words[1]),
                (start...end).contains(instant), !words[2].hasPrefix("<")
            else { return nil }
            return String(words[2].prefix { $0 != "(" })
        }
    }
}

extension Child {
    /// Returns the numbers of its threads.
    func tasks() throws -> [String] {
        guard let folder = opendir("/proc/\(processID)/task") else {
            throw Trouble("a program has ended")
        }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                })
        }
        return names.filter { !$0.hasPrefix(".") }
    }

    /// Returns the processes that it has started and that run.
    func children() throws -> [pid_t] {
        try tasks().flatMap { task in
            try text(of: "/proc/\(processID)/task/\(task)/children")
                .split { $0.isWhitespace }.compactMap { pid_t($0) }
        }
    }

    /// Returns a number of `/proc/PID/status`, of the process or of one of its tasks.
    func status(_ key: String, ofTask task: String? = nil) throws -> Double {
        let folder = "/proc/\(processID)" + (task.map { "/task/\($0)" } ?? "")
        for line in try text(of: "\(folder)/status").split(separator: "\n") {
            let words = line.split { $0 == "\t" || $0 == " " }
            if words.count > 1, words[0] == key, let value = Double(words[1]) { return value }
        }
        throw Trouble("there is no `\(key)` in a process's status")
    }
}
