import ClarityHost
import ClarityScheduler

/// Measures a `run --due` that finds nothing due, such as cron starts every few minutes.
struct Startup {
    private let surroundings: Surroundings
    private let rounds = 300

    init(_ surroundings: Surroundings) { self.surroundings = surroundings }

    func measure() throws -> Section {
        let state = try surroundings.makeFolder("startup")
        let jobs = [
            "refresh", "healthkit.upload", "processing-status", "insights", "cleanup",
        ].compactMap { JobID("com.clarity.\($0)") }
        try surroundings.makeQuietState(state, jobs)
        let waiting = try surroundings.makeFolder("startup-waiting")
        try surroundings.makeQuietState(waiting, jobs)
        let waitingJobFile = "\(surroundings.folder)/waiting.yaml"
        try write(
            try text(of: surroundings.shippedJobFile)
                + "\n  - { id: waiting, kind: command, schedule: { every: 1d }, "
                + "constraints: { storage_free: 1000TiB }, options: { command: [\"true\"] } }\n",
            to: waitingJobFile)
        let due = [surroundings.program("clarity-jobs"), "run", "--due", "--config"]
        let peerProgram = surroundings.program("startup")
        let trials = try surroundings.timeInTurn(
            [
                due + [surroundings.shippedJobFile, "--state", state],
                [peerProgram, surroundings.shippedJobFile, "\(state)/history.db"],
                ["/bin/true"],
                due + [waitingJobFile, "--state", waiting],
                [peerProgram, waitingJobFile, "\(waiting)/history.db"],
            ], rounds: rounds)
        let (own, peer, floor) = (trials[0], trials[1], trials[2])
        var section = Section(title: "`run --due` with nothing due")
        let ratio = own.milliseconds.median / peer.milliseconds.median
        section.add(
            Section.Figure(
                what: "time from start to end", value: own.milliseconds.text("ms"),
                beside: "C: \(peer.milliseconds.text("ms"))", ratio: ratio,
                target: "at most 1.7 times", isMet: ratio <= 1.7))
        section.add(
            Section.Figure(
                what: "the same of `/bin/true`, the floor", value: floor.milliseconds.text("ms")))
        section.add(
            Section.Figure(
                what: "peak resident memory", value: own.peakMiB.fullText("MiB"),
                beside: "C: \(peer.peakMiB.fullText("MiB"))",
                ratio: own.peakMiB.median / peer.peakMiB.median, target: "at most 10 MiB",
                isMet: own.peakMiB.most <= 10))
        let waitingRatio = trials[3].milliseconds.median / trials[4].milliseconds.median
        section.add(
            Section.Figure(
                what: "time where a job waits", value: trials[3].milliseconds.text("ms"),
                beside: "C: \(trials[4].milliseconds.text("ms"))", ratio: waitingRatio,
                target: "at most 2.5 times", isMet: waitingRatio <= 2.5))
        section.notes = [
            "`clarity-jobs run --due` on the shipped job file, with a history in which nothing is due; "
                + "\(rounds) runs each, in turn, medians and quartiles. The job that waits asks for more free "
                + "space than there is.",
            "The C program (`C/startup.c`) opens the same history, reads the open runs and the clocks "
                + "in a transaction, and parses every event of the same job file with libyaml.",
        ]
        return section
    }
}
