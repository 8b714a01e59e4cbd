import ClarityHost
import ClarityScheduler

/// How long a look takes that finds nothing due, as cron asks for one every few minutes.
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
        let trials = try surroundings.timeInTurn(
            [
                [
                    surroundings.program("clarity-jobs"), "run", "--due", "--config",
                    surroundings.shippedJobFile, "--state", state,
                ],
                [
                    surroundings.program("startup"), surroundings.shippedJobFile,
                    "\(state)/history.db",
                ],
                ["/bin/true"],
            ], rounds: rounds)
        let (own, peer, floor) = (trials[0], trials[1], trials[2])
        var section = Section(title: "`run --due` with nothing due")
        let ratio = own.milliseconds.median / peer.milliseconds.median
        section.add(
            Section.Figure(
                what: "time from start to end", value: own.milliseconds.text("ms"),
                beside: "C: \(peer.milliseconds.text("ms"))", ratio: ratio,
                target: "at most 3 times", isMet: ratio <= 3))
        section.add(
            Section.Figure(
                what: "the same of `/bin/true`, the floor", value: floor.milliseconds.text("ms")))
        section.add(
            Section.Figure(
                what: "peak resident memory", value: own.peakMiB.fullText("MiB"),
                beside: "C: \(peer.peakMiB.fullText("MiB"))",
                ratio: own.peakMiB.median / peer.peakMiB.median, target: "at most 15 MiB",
                isMet: own.peakMiB.most <= 15))
        section.notes = [
            "`clarity-jobs run --due` on the shipped job file, with a history in which nothing is due; "
                + "\(rounds) runs each, in turn (program, C, `/bin/true`), medians and quartiles.",
            "The C program (`C/startup.c`) opens the same history, reads the open runs and the clocks "
                + "in a transaction, and parses every event of the same job file with libyaml.",
        ]
        return section
    }
}
