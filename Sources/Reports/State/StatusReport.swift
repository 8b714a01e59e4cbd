import HealthModel
public import HealthStore
public import ClarityScheduler
import Platform
public import JSON

/// The report of `status`: how fresh everything is, and what is in the way.
public struct StatusReport: Sendable {
    public let verdicts: [FreshnessVerdict]
    public let backlog: OutboxCounts
    /// When the access token expires; `nil` if nobody is logged in.
    public let session: Instant?
    /// Since when the backend has refused to renew the session.
    private let refusedSince: Instant?
    public let jobs: [BringingJob]
    /// What FHIR servers have of the archive.
    private let destinations: [FHIRSums]
    private let installation: Installation
    private let now: Instant
    /// Whether the report is about one job, and not about the data and the installation.
    private var isOfOneJob = false

    /// Whether every goal holds, no job failed, is overdue or waits for a login, and of the loops that
    /// run one decides.
    public var holds: Bool {
        verdicts.allSatisfy(\.holds) && !jobs.contains(where: \.isTrouble)
            && !installation.isLeaderless && installation.jobFileFault == nil
    }

    /// Creates a report of the goals that the job file names, and of the default goals.
    ///
    /// - Parameters:
    ///   - jobs: every job of the job file.
    ///   - store: `nil` if there is none yet; it is only read.
    public init(
        goals named: [FreshnessGoal], jobs: [BringingJob], store: HealthStore?,
        destinations: [FHIRSums] = [], installation: Installation, now: Instant
    ) throws(HealthStoreError) {
        self.destinations = destinations
        let hasBackend = installation.hasBackend
        let session = hasBackend ? try store?.sessions.load() : nil
        let refusedSince = hasBackend ? try store?.sessions.refusedSince(at: now) : nil
        let isLoggedIn = session != nil && refusedSince == nil
        let others = try store?.arrivedSubjects().filter { subject in
            !named.contains { $0.subject == subject }
        }
        verdicts = try (named + FreshnessGoal.defaults(for: others ?? [], jobs: jobs))
            .map { goal throws(HealthStoreError) in
                FreshnessVerdict(
                    on: goal,
                    try store?.freshness(of: goal, hasBackend: hasBackend, now: now)
                        ?? FreshnessFacts(),
                    jobs: jobs, isLoggedIn: isLoggedIn || !hasBackend, now: now)
            }
        backlog = hasBackend ? try store?.outbox.backlog() ?? OutboxCounts() : OutboxCounts()
        self.session = session?.expiresAt
        self.refusedSince = refusedSince
        self.jobs = jobs
        self.installation = installation
        self.now = now
    }
}

extension StatusReport {
    /// Creates a report of one job.
    public init(job: BringingJob?, now: Instant) {
        verdicts = []
        backlog = OutboxCounts()
        (session, refusedSince) = (nil, nil)
        jobs = [job].compactMap(\.self)
        destinations = []
        installation = Installation(
            stateDirectory: "", jobFile: "", timeZone: "", loops: [], lastLook: nil,
            hasBackend: false, jobFileFault: nil)
        self.now = now
        isOfOneJob = true
    }
}

// For people.
extension StatusReport {
    /// Returns a line for each job that failed, then one for each goal, the outbox, the session, the
    /// other jobs and the installation; with `missedOnly` only what somebody has to look at.
    public func lines(missedOnly: Bool) -> [String] {
        let isFailed = { (job: BringingJob) in job.fault != nil || job.failure != nil }
        let failed =
            [installation.jobFileFault].compactMap {
                $0.map { "job file: FAULTY: \($0); the jobs are as they were before" }
            }
            + jobs.filter(isFailed).map(line)
        let goals = verdicts.filter { !missedOnly || !$0.holds }.map(line)
        let rest = jobs.filter { !isFailed($0) && (!missedOnly || $0.isTrouble) }
        let retried = rest.filter(\.isRetrying).map(line)
        let others = rest.filter { !$0.isRetrying }.map(line)
        guard !isOfOneJob else { return (failed + retried + others).map(\.forReport) }
        guard !missedOnly else {
            let leader = installation.isLeaderless ? [Installation.leaderless] : []
            return (failed + retried + goals + others + leader).map(\.forReport)
        }
        return
            (failed + retried + goals + outboxLines + sessionLines + destinations.map(\.line)
            + others
            + installation.lines).map(\.forReport)
    }

    private var outboxLines: [String] {
        guard backlog.waiting + backlog[.accepted] + backlog.forPerson > 0 else { return [] }
        return ["outbox: \(backlog.headline)"]
    }

    /// The session; nothing without a backend to log in to.
    private var sessionLines: [String] { installation.hasBackend ? [sessionLine] : [] }

    private var sessionLine: String {
        if let refusedSince {
            return "session: the backend has refused to renew it since \(refusedSince); see "
                + "`clarity-jobs auth login`"
        }
        guard let session else { return "session: nobody is logged in" }
        return session > now
            ? "session: logged in, access until \(session)"
            : "session: logged in, the next job renews the access that expired at \(session)"
    }

    private func line(_ verdict: FreshnessVerdict) -> String {
        let wanted =
            "wanted within \(verdict.goal.within.text)\(verdict.goal.isDefault ? " by default" : "")"
        let age = verdict.age.map { "\(StatusReport.text($0)) old" } ?? "none yet"
        let name = verdict.goal.subject.name
        if case .source(let reading)? = verdict.blame, verdict.holds, let age = verdict.age {
            // Nobody asked for newer data, and there is none.
            let read = reading.map { "read \(AsOf.age(of: $0, at: now))" } ?? "never read"
            let kind = name.replacing("_", with: " ")
            return "\(kind): newest is of \((now - age).shown), as in the sources (\(read))"
        }
        guard let blame = verdict.blame else { return "\(name): holds: \(age), \(wanted)" }
        return "\(name): \(verdict.holds ? "holds" : "missed"): \(age), \(wanted): \(words(blame))"
    }

    private func words(_ blame: FreshnessVerdict.Blame) -> String {
        switch blame {
        case .source(nil): "no source was ever read"
        case .source(let reading?):
            "nothing newer was there when the sources were read at \(reading)"
        case .job(let job):
            "job `\(job.id)` "
                + (job.failure.map { "failed: \($0.reason); it " } ?? "") + job.status
        case .backend: "the backend has not confirmed or made anything newer"
        case .person(let place):
            "newer samples are \(place.rawValue) and want a person: see `clarity-jobs outbox`"
        case .login where refusedSince != nil:
            "the backend refuses to renew the session: see `clarity-jobs auth login`"
        case .login: "nobody is logged in: see `clarity-jobs auth login`"
        case .noJob: "no job of the job file brings it"
        }
    }

    private func line(_ job: BringingJob) -> String {
        if let fault = job.fault { return "\(job.id): HELD: \(fault)" }
        guard let failure = job.failure else {
            let success = job.lastSuccess.map { "succeeded \(AsOf.age(of: $0, at: now))" }
            let last = success ?? "no success yet"
            return job.isRetrying
                ? "\(job.id): \(job.status); \(last)" : "\(job.id): \(last); \(job.status)"
        }
        let success = job.lastSuccess.map { "last success at \($0.shown)" }
        return "\(job.id): FAILED \(AsOf.age(of: failure.at, at: now)): \(failure.reason) "
            + "(run \(failure.run); \(success ?? "no success yet")); \(job.status)"
    }

    /// Returns a span in whole minutes if it is an hour or longer, else in seconds.
    private static func text(_ span: Duration) -> String {
        let seconds = span.milliseconds / 1000
        return Duration.seconds(seconds >= 3600 ? seconds / 60 * 60 : seconds).text
    }
}

// For programs.
extension StatusReport {
    /// The report as one object.
    ///
    /// - Parameter missedOnly: whether it has only `holds`, the missed goals and the jobs in trouble.
    public func result(missedOnly: Bool) -> StatusResult {
        StatusResult(
            holds: holds, jobFileFault: installation.jobFileFault?.forReport,
            goals: verdicts.filter { !missedOnly || !$0.holds }.map { verdict in
                StatusResult.Goal(verdict: verdict, why: verdict.blame.map(words)?.forReport)
            },
            outbox: missedOnly || isOfOneJob || !installation.hasBackend
                ? nil : StatusResult.Outbox(counts: backlog),
            session: missedOnly || isOfOneJob || !installation.hasBackend
                ? nil
                : StatusResult.SessionState(expiresAt: session, refusedSince: refusedSince),
            destinations: missedOnly || destinations.isEmpty ? nil : destinations,
            jobs: jobs.filter { !missedOnly || $0.isTrouble },
            installation: missedOnly || isOfOneJob ? nil : installation)
    }
}

/// The result of `status`.
public struct StatusResult: Reported {
    let holds: Bool
    let jobFileFault: String?
    let goals: [Goal]
    let outbox: Outbox?
    let session: SessionState?
    let destinations: [FHIRSums]?
    let jobs: [BringingJob]
    let installation: Installation?

    public static let report = Report<StatusResult>(
        [
            Column(
                "holds",
                "whether every goal is met, and no job failed, is overdue or waits for a login"
            ) { $0.holds },
            Column("job_file_fault", "the fault for which the job file is not followed") {
                $0.jobFileFault
            },
            Column("goals", "the goals; with --quiet the missed ones") { $0.goals },
            Column("outbox", "the outbox; not with --quiet, nor without a backend") { $0.outbox },
            Column("session", "the login; not with --quiet, nor without a backend") {
                $0.session
            },
            Column(
                "destinations",
                "what FHIR servers have of the archive; not with --quiet, nor without such a job"
            ) { $0.destinations },
            Column(
                "jobs", "the jobs; with --quiet those that failed, are overdue or wait for a login"
            ) {
                $0.jobs
            },
            Column("installation", "where everything is; not with --quiet") {
                $0.installation
            },
        ], omitsNulls: true)

    /// The same as separate objects, each with `what` it is.
    public var lines: [JSON] {
        goals.map(Line.goal.object) + [outbox].compactMap { $0.map(Line.outbox.object) }
            + [session].compactMap { $0.map(Line.session.object) } + jobs.map(Line.job.object)
            + [installation].compactMap { $0.map(Line.installation.object) }
    }

    /// The types of the separate objects.
    public static var lineTypes: [ValueType] {
        [
            Line.goal.type(of: Goal.self), Line.outbox.type(of: Outbox.self),
            Line.session.type(of: SessionState.self), Line.job.type(of: BringingJob.self),
            Line.installation.type(of: Installation.self),
        ]
    }

    /// What a separate object is.
    private enum Line: String {
        case goal, outbox, session, job, installation

        private func report<Row: Reported>(_ type: Row.Type) -> Report<Row> {
            let name = rawValue
            return Report([Column("what", "`\(name)`") { _ in name }] + Row.report.columns)
        }

        func type<Row: Reported>(of type: Row.Type) -> ValueType { report(type).type }

        func object<Row: Reported>(_ row: Row) -> JSON { report(Row.self).object(row) }
    }
}

extension StatusResult {
    struct Goal: Reported {
        let verdict: FreshnessVerdict
        let why: String?

        static let report = Report<Goal>([
            Column("goal", "what has to be fresh") { $0.verdict.goal.subject.name },
            Column("holds", "whether the goal is met") { $0.verdict.holds },
            Column("default", "whether the job file does not name the goal") {
                $0.verdict.goal.isDefault
            },
            Column("within_seconds", "the age that is allowed") {
                $0.verdict.goal.within.milliseconds / 1000
            },
            Column("age_seconds", "the age; none if nothing has arrived") {
                $0.verdict.age.map { $0.milliseconds / 1000 }
            },
            Column("blame", "`source`, `job`, `backend`, `person`, `login` or `no_job`") {
                $0.verdict.blame?.name
            },
            Column("why", "the blame in words") { $0.why },
        ])
    }

    struct Outbox: Reported {
        let counts: OutboxCounts

        static let report = Report<Outbox>([
            Column("waiting", "number of samples that wait to be sent") { $0.counts.waiting },
            Column("accepted", "number of samples that the backend processes") {
                $0.counts[.accepted]
            },
            Column("for_person", "number of samples that need a person") {
                $0.counts.forPerson
            },
        ])
    }

    struct SessionState: Reported {
        let expiresAt: Instant?
        let refusedSince: Instant?

        static let report = Report<SessionState>([
            Column("logged_in", "whether somebody is logged in") {
                $0.expiresAt != nil && $0.refusedSince == nil
            },
            Column("expires_at", "when the access token expires") { $0.expiresAt },
            Column(
                "renewal_refused_since",
                "since when the backend refuses to renew the session; jobs wait for a login"
            ) { $0.refusedSince },
        ])
    }
}

extension BringingJob: Reported {
    public static let report = Report<BringingJob>([
        Column("job", "id of the job") { $0.id },
        Column("last_success_at", "end of its last successful run") { $0.lastSuccess },
        Column("failed_at", "end of its last run, if that failed") { $0.failure?.at },
        Column("failed_run", "number of that run") { $0.failure?.run },
        Column("failure", "why it failed") { $0.failure?.reason.forReport },
        Column("fault", "the fault in the job file for which it is held") { $0.fault?.forReport },
        Column("words", "the state of the job in words") { $0.status.forReport },
        Column(
            "overdue", "whether its run should have started, and no scheduler ran"
        ) { $0.isOverdue },
        Column("waits_for_login", "whether a run of it waits until somebody logs in") {
            $0.waitsForLogin
        },
    ])
}

extension FreshnessVerdict.Blame {
    /// A word for programs.
    fileprivate var name: String {
        switch self {
        case .source: "source"
        case .job: "job"
        case .backend: "backend"
        case .person: "person"
        case .login: "login"
        case .noJob: "no_job"
        }
    }
}

/// Where the jobs come from, where their state is, and what starts them.
public struct Installation: Sendable {
    private let stateDirectory: String
    private let jobFile: String
    /// The zone that the days of the account follow.
    private let timeZone: String
    /// The running loops, each with its process id and its start.
    private let loops: [RunningLoop]
    /// When a loop or a `run --due` last left a trace; `nil` if none ever did.
    private let lastLook: Instant?
    /// Whether the job file names a backend, to which somebody has to log in.
    let hasBackend: Bool
    /// The fault that the job file has had since it was last valid, if that concerns all of it.
    let jobFileFault: String?

    public init(
        stateDirectory: String, jobFile: String, timeZone: String,
        loops: [RunningLoop], lastLook: Instant?, hasBackend: Bool, jobFileFault: String?
    ) {
        self.stateDirectory = stateDirectory
        self.jobFile = jobFile
        self.timeZone = timeZone
        self.loops = loops
        self.lastLook = lastLook
        self.hasBackend = hasBackend
        self.jobFileFault = jobFileFault
    }

    /// Whether loops run and none of them decides.
    var isLeaderless: Bool { loops.isLeaderless }

    public static let leaderless =
        "scheduler: no loop decides, so that nothing starts: each waits for another one; restart them"

    var lines: [String] {
        ["state directory: \(stateDirectory)", "job file: \(jobFile)"] + schedulers
    }

    private var schedulers: [String] {
        guard loops.isEmpty else {
            return loops.map { "scheduler: \($0.words)" }
                + (isLeaderless ? [Installation.leaderless] : [])
        }
        guard let lastLook else {
            return ["scheduler: none yet; see `clarity-jobs loop` and `run --due`"]
        }
        return ["scheduler: no loop; one was last seen at \(lastLook)"]
    }
}

extension Installation: Reported {
    public static let report = Report<Installation>([
        Column("state_directory", "path of the state directory") { $0.stateDirectory.forReport },
        Column("job_file", "path of the job file") { $0.jobFile.forReport },
        Column("time_zone", "the time zone that days follow") { $0.timeZone.forReport },
        Column("loops", "the running loops") { $0.loops },
        Column("last_look_at", "when a scheduler last decided") { $0.lastLook },
    ])
}

extension RunningLoop {
    /// The loop in words, such as `loop on pi, process 412, since 2026-11-20T06:00:00Z`.
    public var words: String {
        let place = machine.map { " on \($0)" } ?? ""
        return "loop\(place), process \(process), since \(since)"
            + (isStandby ? ", ready to take over" : "")
    }
}

extension RunningLoop: Reported {
    public static let report = Report<RunningLoop>([
        Column("machine", "name of its machine; for a shared database") { $0.machine },
        Column("is_standby", "whether it follows another loop, which decides") { $0.isStandby },
        Column("process", "process id of the loop") { Int($0.process) },
        Column("since", "start of the loop") { $0.since },
    ])
}
