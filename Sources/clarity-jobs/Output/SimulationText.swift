import Reports
import ClarityScheduler
import JSON

/// The output of `simulate`.
struct SimulationText {
    let report: SimulationReport
    /// The terminal that the tables have to fit, if there is one.
    var style: PageStyle?

    /// The runs, followed by the jobs.
    var lines: [String] {
        let runs = Table(
            heading: [
                "RUN", "JOB", "SCHEDULED FOR", "STARTED", "FINISHED", "STATE", "ATTEMPTS",
                "HELD BACK BY",
            ],
            rows: report.runs.map { simulated in
                let run = simulated.run
                return [
                    run.id.description, run.job.rawValue, RunText.seconds(run.scheduledFor),
                    run.startedAt.map(RunText.seconds) ?? "-",
                    run.finishedAt.map(RunText.seconds) ?? "-", run.state.rawValue,
                    String(run.attempts), words(simulated.holds),
                ]
            })
        let jobs = Table(
            heading: [
                "JOB", "OCCURRENCES", "RUNS", "STARTS", "SUCCEEDED", "COALESCED", "SKIPPED",
                "EXPIRED", "WORST AGE", "HELD BACK BY",
            ],
            rows: report.jobs.map { job in
                [
                    job.job.rawValue, String(job.occurrences), String(job.runs),
                    String(job.starts), String(job.successes), count(.coalesced, of: job),
                    count(.skipped, of: job), String(expired(job)), job.worstAge.text,
                    words(job.holds),
                ]
            })
        return runs.lines(in: style) + (runs.rows.isEmpty ? [] : [""]) + jobs.lines(in: style)
    }

    private func count(_ fate: OccurrenceFate, of job: SimulatedJob) -> String {
        String(job.fates[fate] ?? 0)
    }

    /// Returns the number of runs that expired before they started and of occurrences that expired
    /// without a run.
    private func expired(_ job: SimulatedJob) -> Int {
        job.expired + (job.fates[.expired] ?? 0)
    }

    private func words(_ holds: [HoldSummary]) -> String {
        holds.map { "\($0.subject) \($0.total.text)" }.joined(separator: ", ")
    }

    var object: JSON {
        [
            "from": .text(report.stretch.lowerBound), "until": .text(report.stretch.upperBound),
            "runs": .array(report.runs.map(object)), "jobs": .array(report.jobs.map(object)),
        ]
    }

    private func object(_ simulated: SimulatedRun) -> JSON {
        let run = simulated.run
        return [
            "run": .integer(run.id.rawValue), "job": .string(run.job.rawValue),
            "trigger": .string(run.trigger.rawValue), "state": .string(run.state.rawValue),
            "scheduled_for": .text(run.scheduledFor), "enqueued_at": .text(run.enqueuedAt),
            "started_at": .text(run.startedAt), "finished_at": .text(run.finishedAt),
            "attempts": .count(run.attempts), "stop_reason": .text(run.stopReason?.rawValue),
            "held_back": .array(simulated.holds.map(object)),
        ]
    }

    private func object(_ job: SimulatedJob) -> JSON {
        var members: [JSON.Member] = [
            JSON.Member(name: "job", value: .string(job.job.rawValue)),
            JSON.Member(name: "occurrences", value: .count(job.occurrences)),
            JSON.Member(name: "runs", value: .count(job.runs)),
            JSON.Member(name: "starts", value: .count(job.starts)),
            JSON.Member(name: "succeeded", value: .count(job.successes)),
        ]
        for fate in OccurrenceFate.allCases {
            let count = fate == .expired ? expired(job) : job.fates[fate] ?? 0
            members.append(JSON.Member(name: fate.rawValue, value: .count(count)))
        }
        members += [
            JSON.Member(name: "worst_age_ms", value: .integer(job.worstAge.milliseconds)),
            JSON.Member(name: "held_back", value: .array(job.holds.map(object))),
        ]
        return .object(members)
    }

    private func object(_ holds: HoldSummary) -> JSON {
        [
            "subject": .string(holds.subject), "times": .count(holds.spans),
            "total_ms": .integer(holds.total.milliseconds),
        ]
    }
}
