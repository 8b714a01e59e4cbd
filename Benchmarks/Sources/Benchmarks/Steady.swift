import ClarityHost
import ClarityScheduler
@preconcurrency import Glibc

/// Measures seventeen jobs a second for a minute.
struct Steady {
    private let surroundings: Surroundings
    private let rate = 17.0
    private let seconds = 60.0

    init(_ surroundings: Surroundings) { self.surroundings = surroundings }

    func measure() async throws -> Section {
        let offsets = (0..<Int(rate * seconds)).map { Double($0) * 1000 / rate }
        let inProcess = try await Workload(offsets: offsets).run(
            try surroundings.makeFolder("steady"), surroundings)
        let peer = try APScheduler(surroundings)?.run("apscheduler-steady", offsets: offsets)
        let worker = surroundings.program("benchmark-worker")
        let asProcess = try await Workload(offsets: offsets) { store in
            ProcessWorker(
                executable: [worker, "attempt"], environment: [:],
                proof: store.attemptLocks.proof)
        }.run(try surroundings.makeFolder("steady-processes"), surroundings)

        let floor = try syncs(170)

        var section = Section(title: "Seventeen jobs a second for a minute")
        section.add(
            figure("lateness, worker in the same process", inProcess.completed, 10, beside: peer))
        section.add(figure("its claim alone", inProcess.started))
        section.add(figure("lateness, an attempt a process", asProcess.completed, 35))
        section.add(figure("its claim alone", asProcess.started))
        section.add(figure("one page written and synced, of which a job needs two", floor))
        section.notes = [
            "\(offsets.count) jobs, each due at an instant of its own; lateness at p99 (median..most), "
                + "from the due instant until the completion, or the claim, was durable.",
            "The process is `benchmark-worker`: reads its order, reports success.",
        ]
        if peer == nil { section.notes.append(APScheduler.absence) }
        return section
    }

    /// Measures how long the file system takes to sync one page, at the same rate.
    private func syncs(_ count: Int) throws -> Measurement {
        let file = open("\(surroundings.folder)/page", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Trouble("cannot write a page") }
        defer { close(file) }
        let page = [UInt8](repeating: 7, count: 4096)
        return Measurement(
            (0..<count).map { number in
                pause(milliseconds: Int(1000 / rate))
                let start = steadyMilliseconds()
                pwrite(file, page, page.count, number * page.count)
                fdatasync(file)
                return steadyMilliseconds() - start
            })
    }

    private func figure(
        _ what: String, _ own: Measurement, _ limit: Double? = nil, beside peer: Measurement? = nil
    ) -> Section.Figure {
        var figure = Section.Figure(what: what, value: text(own))
        if let peer {
            figure.beside = "APScheduler: \(text(peer))"
            figure.ratio = own.quantile(0.99) / peer.quantile(0.99)
        }
        if let limit {
            figure.target = "p99 at most \(decimal(limit)) ms"
            figure.isMet = own.quantile(0.99) <= limit
        }
        return figure
    }

    private func text(_ lateness: Measurement) -> String {
        "\(decimal(lateness.quantile(0.99))) ms "
            + "(\(decimal(lateness.median))..\(decimal(lateness.most)))"
    }
}
