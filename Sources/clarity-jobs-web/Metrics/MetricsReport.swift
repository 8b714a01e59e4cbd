import ClarityHost
import HealthStore
import ClarityScheduler
import Platform

/// What the metrics are made of, at one instant. It has neither a person's data nor a path, and no
/// account: a job that runs for several accounts is one job.
struct MetricsReport: Sendable {
    /// A job of the job file; of several accounts what is worst.
    struct JobFacts: Hashable, Sendable {
        /// When the schedule next wants the job; in the past if nobody has looked since.
        var next: Instant?
        var lastSuccess: Instant?
        /// How long the job is overdue; zero if it is not.
        var overdue: Duration

        /// Adds what is known of the job for another account.
        mutating func join(_ other: JobFacts) {
            next = [next, other.next].compactMap(\.self).min()
            lastSuccess = [lastSuccess, other.lastSuccess].compactMap(\.self).min()
            overdue = max(overdue, other.overdue)
        }
    }

    /// What only the health data knows.
    struct HealthFacts: Hashable, Sendable {
        /// The ages of the newest data, by the name of a subject of `fresh`.
        var ages: [String: Duration] = [:]
        /// The ages that `fresh` allows.
        var goals: [String: Duration] = [:]
        /// The samples that the backend has not confirmed; `nil` without a backend.
        var outbox: OutboxCounts?
        var isLoggedIn: Bool?
    }

    var jobs: [JobID: JobFacts] = [:]
    var totals: [JobID: JobTotals] = [:]
    /// The number of jobs that wait, by the first reason.
    var waiting: [WaitReason: Int] = [:]
    /// Whether the job file has a fault that concerns all of it, and what is here follows a former one.
    var isJobFileFaulty = false
    /// The number of jobs that are held because their declaration has a fault.
    var heldJobs = 0
    /// The number of accounts that are held for the same reason.
    var heldAccounts = 0
    /// The loops that run.
    var loops: [RunningLoop] = []
    /// `nil` if there is none, or it cannot be read.
    var health: HealthFacts?
    /// Why the health data cannot be read; not for the network, because it may name a path.
    var healthFault: String?

    /// The metrics, in an order that never changes.
    var families: [MetricFamily] { [build, ofLoops] + ofJobFile + ofTotals + ofJobs + ofHealth }

    private var ofLoops: MetricFamily {
        var family = MetricFamily(
            "loops", .gauge, "Loops that run; without one that decides, nothing starts.")
        for (role, isStandby) in [("deciding", false), ("standby", true)] {
            family.add(
                .count(Int64(loops.count { $0.isStandby == isStandby })),
                [.init(name: "role", value: role)])
        }
        return family
    }

    private var ofJobFile: [MetricFamily] {
        var isFaulty = MetricFamily(
            "job_file_faulty", .gauge, "Whether the job file has a fault, and is not followed.")
        isFaulty.add(.count(isJobFileFaulty ? 1 : 0))
        var held = MetricFamily(
            "held_jobs", .gauge, "Jobs that are held because their declaration has a fault.")
        held.add(.count(Int64(heldJobs)))
        var accounts = MetricFamily(
            "held_accounts", .gauge, "Accounts that are held because their declaration has a fault."
        )
        accounts.add(.count(Int64(heldAccounts)))
        return [isFaulty, held, accounts]
    }

    private var build: MetricFamily {
        var build = MetricFamily("build_info", .gauge, "The version of clarity-jobs.")
        build.add(.count(1), [.init(name: "version", value: programVersion)])
        return build
    }

    private var ofTotals: [MetricFamily] {
        var runs = MetricFamily("runs_total", .counter, "Finished runs, by how they ended.")
        var failures = MetricFamily(
            "failures_total", .counter,
            "Runs that failed for good, by the category of the last failure.")
        var answers = MetricFamily(
            "http_answers_total", .counter,
            "Answers to the job's HTTP requests, by class of status; none where no answer came.")
        var attempts = MetricFamily(
            "attempt_duration_seconds", .histogram,
            "How long attempts took, without those that vanished.")
        var delays = MetricFamily(
            "start_delay_seconds", .histogram,
            "How long after their occurrence the runs of the schedule started.")
        var waits = MetricFamily(
            "wait_seconds_total", .counter,
            "How long runs waited, by the reason; two constraints at the same time count each.")
        var missed = MetricFamily(
            "missed_total", .counter,
            "Occurrences that started no run of their own, by what became of them.")
        // A series that begins with its first failure would hide this failure from `increase`.
        for job in Set(totals.keys).union(jobs.keys).sorted() {
            let totals = totals[job] ?? JobTotals()
            for state in RunState.allCases where state.isFinished {
                runs.add(
                    .count(totals.runs[state] ?? 0),
                    [.job(job), .init(name: "result", value: state.rawValue)])
            }
            for category in Failure.Category.allCases {
                failures.add(
                    .count(totals.failures[category] ?? 0),
                    [.job(job), .init(name: "category", value: category.rawValue)])
            }
            for answer in JobTotals.AnswerClass.allCases {
                answers.add(
                    .count(totals.answers[answer] ?? 0),
                    [.job(job), .init(name: "class", value: answer.rawValue)])
            }
            for reason in WaitReason.allCases {
                waits.add(
                    .milliseconds(totals.waits[reason]?.milliseconds ?? 0),
                    [.job(job), .init(name: "reason", value: reason.rawValue.inSnakeCase)])
            }
            for outcome in OccurrenceOutcome.allCases {
                missed.add(
                    .count(totals.missed[outcome] ?? 0),
                    [.job(job), .init(name: "outcome", value: outcome.rawValue)])
            }
            attempts.add(totals.attempts, of: job)
            delays.add(totals.delays, of: job)
        }
        return [runs, failures, answers, attempts, delays, waits, missed]
    }

    private var ofJobs: [MetricFamily] {
        var waits = MetricFamily(
            "waiting_jobs", .gauge, "Jobs with a run that waits, by the first reason.")
        for reason in WaitReason.allCases {
            waits.add(
                .count(Int64(waiting[reason] ?? 0)),
                [.init(name: "reason", value: reason.rawValue.inSnakeCase)])
        }
        var next = MetricFamily(
            "next_run_timestamp_seconds", .gauge,
            "When the schedule next wants the job. In the past if no scheduler has looked since.")
        var success = MetricFamily(
            "last_success_timestamp_seconds", .gauge,
            "When a run of the job last succeeded, as far as the history goes back.")
        var overdue = MetricFamily(
            "overdue_seconds", .gauge, "How long the job is overdue without a scheduler; else 0.")
        for (job, facts) in jobs.sorted(by: { $0.key < $1.key }) {
            if let instant = facts.next { next.add(.instant(instant), [.job(job)]) }
            if let instant = facts.lastSuccess { success.add(.instant(instant), [.job(job)]) }
            overdue.add(.milliseconds(facts.overdue.milliseconds), [.job(job)])
        }
        return [waits, next, success, overdue]
    }

    private var ofHealth: [MetricFamily] {
        var isUp = MetricFamily(
            "health_data_up", .gauge, "Whether the health data could be opened.")
        isUp.add(.count(health == nil ? 0 : 1))
        guard let health else { return [isUp] }
        var ages = MetricFamily(
            "data_age_seconds", .gauge, "Age of the newest data that counts for `fresh`.")
        var goals = MetricFamily(
            "data_goal_seconds", .gauge, "The age that `fresh` of the job file allows.")
        ages.add(health.ages)
        goals.add(health.goals)
        guard let samples = health.outbox, let isLoggedIn = health.isLoggedIn else {
            return [isUp, ages, goals]
        }
        var login = MetricFamily("logged_in", .gauge, "Whether somebody is logged in.")
        login.add(.count(isLoggedIn ? 1 : 0))
        var outbox = MetricFamily(
            "outbox_samples", .gauge,
            "Samples that the backend has not confirmed, by their state.")
        // Counting the others would take longer with each sample that was ever sent.
        for state in OutboxState.allCases where state != .confirmed && state != .stored {
            outbox.add(
                .count(samples[state]),
                [.init(name: "state", value: state.rawValue.inSnakeCase)])
        }
        return [isUp, login, ages, goals, outbox]
    }
}

extension MetricFamily {
    fileprivate mutating func add(_ spans: [String: Duration]) {
        for (type, span) in spans.sorted(by: { $0.key < $1.key }) {
            add(.milliseconds(span.milliseconds), [.init(name: "type", value: type)])
        }
    }

    fileprivate mutating func add(_ values: JobTotals.Distribution, of job: JobID) {
        add(
            bounds: values.bounds, counts: values.counts,
            sumMilliseconds: values.sum.milliseconds, [.job(job)])
    }
}

extension MetricFamily.Label {
    /// Not `job`, which Prometheus itself gives to every series.
    fileprivate static func job(_ job: JobID) -> Self { Self(name: "job_id", value: job.rawValue) }
}

extension MetricFamily.Value {
    fileprivate static func instant(_ instant: Instant) -> Self {
        .milliseconds(instant.millisecondsSince1970)
    }
}

extension String {
    /// The words of a name in camel case, joined by `_`.
    fileprivate var inSnakeCase: String {
        reduce(into: "") { $0 += $1.isUppercase ? "_\($1.lowercased())" : "\($1)" }
    }
}

/// A metric of Prometheus with all of its samples.
struct MetricFamily: Hashable, Sendable {
    /// The types of the text format that are used here.
    enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    /// A number that is written without a loss.
    enum Value: Hashable, Sendable {
        case count(Int64)
        /// A span or an instant, which is written in seconds.
        case milliseconds(Int64)
    }

    struct Sample: Hashable, Sendable {
        /// What follows the family's name: nothing, or `_bucket`, `_sum` or `_count`.
        var suffix = ""
        var labels: [Label]
        var value: Value
    }

    struct Label: Hashable, Sendable {
        var name: String
        var value: String
    }

    let name: String
    let help: String
    let kind: Kind
    private(set) var samples: [Sample] = []

    /// Creates a family without samples, which is not written.
    ///
    /// - Parameter name: the name after `clarity_jobs_`.
    init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = "clarity_jobs_\(name)"
        self.help = help
        self.kind = kind
    }

    /// Adds a sample.
    mutating func add(_ value: Value, _ labels: [Label] = []) {
        samples.append(Sample(labels: labels, value: value))
    }

    /// Adds the buckets, the sum and the count of a histogram.
    ///
    /// - Parameters:
    ///   - bounds: the upper bounds of the buckets in milliseconds, ascending.
    ///   - counts: the number of values in each bucket, and last of those above every bound.
    mutating func add(
        bounds: [Int64], counts: [Int64], sumMilliseconds: Int64, _ labels: [Label]
    ) {
        let limits = bounds.map { Value.milliseconds($0).text } + ["+Inf"]
        var total: Int64 = 0
        for (limit, count) in zip(limits, counts) {
            total += count
            samples.append(
                Sample(
                    suffix: "_bucket", labels: labels + [Label(name: "le", value: limit)],
                    value: .count(total)))
        }
        samples.append(
            Sample(suffix: "_sum", labels: labels, value: .milliseconds(sumMilliseconds)))
        samples.append(Sample(suffix: "_count", labels: labels, value: .count(total)))
    }
}

extension MetricFamily.Value {
    /// The number as the text format has it.
    var text: String {
        switch self {
        case .count(let number): return "\(number)"
        case .milliseconds(let number):
            let (whole, rest) = number.magnitude.quotientAndRemainder(dividingBy: 1000)
            let digits = String("\(1000 + rest)".dropFirst())
            let fraction = rest == 0 ? "" : ".\(digits.trimmingZeros)"
            return "\(number < 0 ? "-" : "")\(whole)\(fraction)"
        }
    }
}

extension String {
    /// The text without the zeros at its end.
    fileprivate var trimmingZeros: Substring {
        self[..<(lastIndex { $0 != "0" }.map(index(after:)) ?? startIndex)]
    }
}

/// The text format of Prometheus, version 0.0.4
/// (<https://prometheus.io/docs/instrumenting/exposition_formats/>).
enum PrometheusText {
    /// The value of `Content-Type`.
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Returns the families that have samples as text.
    static func text(_ families: [MetricFamily]) -> String {
        var text = ""
        for family in families where !family.samples.isEmpty {
            text += "# HELP \(family.name) \(escaped(family.help, quotes: false))\n"
            text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
            for sample in family.samples {
                let labels = sample.labels.map {
                    "\($0.name)=\"\(escaped($0.value, quotes: true))\""
                }
                let list = labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}"
                text += "\(family.name)\(sample.suffix)\(list) \(sample.value.text)\n"
            }
        }
        return text
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        // By scalar: `\r\n` is one character.
        text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "\\": result += #"\\"#
            case "\n": result += #"\n"#
            case "\"" where quotes: result += #"\""#
            default: result.unicodeScalars.append(scalar)
            }
        }
    }
}
