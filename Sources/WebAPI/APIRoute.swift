/// A path below `/api/v1/` that a command answers with its JSON.
public struct APIRoute: Hashable, Sendable {
    /// The path, whose variable part is written `{name}`.
    public var path: String
    public var summary: String
    /// The command, such as `history show`.
    public var command: [String]
    public var reach: APIReach
    /// Words that the command always gets.
    private var fixed: [String]
    /// The variable of the path first, if there is one.
    public var parameters: [APIParameter]

    /// The key of the command's result in the schema of results.
    public var resultKey: String { command.joined(separator: "-") }

    /// The name of the path's variable; `nil` if it has none.
    public var variable: String? {
        guard let start = path.firstIndex(of: "{") else { return nil }
        return String(path[path.index(after: start)...].dropLast())
    }

    /// Returns the value of the variable in a path, or an empty text if there is none; `nil` if this
    /// is another route.
    public func match(_ path: some StringProtocol) -> String? {
        guard let start = self.path.firstIndex(of: "{") else { return path == self.path ? "" : nil }
        let head = self.path[..<start]
        guard path.hasPrefix(head) else { return nil }
        let value = path.dropFirst(head.count)
        return value.isEmpty || value.contains("/") ? nil : String(value)
    }

    /// Returns the command with the parameters of a request.
    ///
    /// - Parameter variable: the variable part of the path; empty if there is none.
    public func words(
        _ variable: String, _ query: [(name: String, value: String)]
    ) throws(APIFault) -> [String] {
        let own = self.variable.map { [(name: $0, value: variable)] } ?? []
        return try commandWords(command + fixed, parameters, own + query)
    }

    /// Whether a request names one thing, which may not exist: in its path, or as a job or a type.
    public func namesOne(_ query: [(name: String, value: String)]) -> Bool {
        parameters.contains { parameter in
            parameter.form == .operand
                && (parameter.name == variable || query.contains { $0.name == parameter.name })
        }
    }

    init(
        _ path: String, _ summary: String, _ command: String, with fixed: [String] = [],
        of reach: APIReach = .values, _ parameters: [APIParameter] = []
    ) {
        (self.path, self.summary, self.parameters) = (path, summary, parameters)
        (self.fixed, self.reach) = (fixed, reach)
        self.command = command.split(separator: " ").map { String($0) }
    }
}

extension APIRoute {
    private static let since = APIParameter(
        "since", .since, .option("since"), "number of days, or the first day")
    private static let until = APIParameter("until", .day, .option("until"), "the last day")
    private static let spanPeriod = APIParameter(
        "by", .choice(["each", "month"]), .option("by"),
        "what a row stands for; each for one night or workout")
    private static let period = APIParameter(
        "by", .choice(["raw", "hour", "day", "month"]), .option("by"),
        "what a row stands for; raw for one record")

    /// Every route that a command answers.
    public static let all: [APIRoute] = [
        APIRoute("status", "Whether the data is up to date, and why not", "status"),
        APIRoute(
            "accounts", "Whether the data of each account is up to date, and why not", "status",
            with: ["--all"], of: .accounts),
        APIRoute("jobs", "Jobs, when each runs next and what it waits for", "list", of: .jobs),
        APIRoute(
            "explain", "Why a job runs now or does not", "explain", of: .jobs,
            [
                APIParameter("job", .job, .operand, isRequired: true, "the job"),
                APIParameter(
                    "at", .time, .option("at"), "explain that time instead of the present"),
            ]),
        APIRoute(
            "next", "The next occurrences of jobs, soonest first", "next", of: .jobs,
            [
                APIParameter(
                    "count", .number(1...1000), .option("limit"), "number of occurrences"),
                APIParameter("job", .job, .operand, "occurrences of this job only"),
            ]),
        APIRoute(
            "history", "Runs, newest first", "history", of: .jobs,
            [
                APIParameter(
                    "since", .time, .option("since"), "only runs that ended then or later"),
                APIParameter("until", .time, .option("until"), "only runs that were due before"),
                APIParameter("limit", .number(1...10_000), .option("limit"), "number of runs"),
                APIParameter("job", .job, .operand, "runs of this job only"),
            ]),
        APIRoute(
            "missed", "Occurrences that started no run of their own, latest first",
            "history missed", of: .jobs,
            [
                APIParameter(
                    "since", .time, .option("since"), "only occurrences then or later"),
                APIParameter("limit", .number(1...10_000), .option("limit"), "number of rows"),
                APIParameter("job", .job, .operand, "occurrences of this job only"),
            ]),
        APIRoute(
            "runs/{id}", "One run, its attempts and everything it waited for", "history show",
            of: .jobs,
            [
                APIParameter(
                    "id", .number(1...Int64.max), .operand, isRequired: true, "number of the run")
            ]),
        APIRoute("metrics", "The types of metrics", "metrics"),
        APIRoute(
            "metrics/{type}", "One type of metrics day by day", "metrics",
            [APIParameter("type", .type, .operand, isRequired: true, "the type"), since, until]),
        APIRoute(
            "records", "The types of records, or the records of one type or sums of them",
            "records",
            // A clinical document may have megabytes of text.
            with: ["--cut=2000"],
            [APIParameter("type", .type, .operand, "the type"), period, since, until]),
        APIRoute("summary", "The newest day that has data, on one screen", "summary"),
        APIRoute(
            "nights", "Nights, or what those of each month have in common", "nights",
            [spanPeriod, since, until]),
        APIRoute(
            "workouts", "Workouts, or how much those of each month are", "workouts",
            [spanPeriod, since, until]),
        APIRoute(
            "activity", "What a watch counted of days beside their goals", "activity",
            [spanPeriod, since, until]),
        APIRoute(
            "diary", "Symptoms, medications, moods, the cycle and notifications", "diary",
            [since, until]),
        APIRoute("ecgs", "Electrocardiograms without their curves", "ecgs", [since, until]),
        APIRoute(
            "ecgs/{start}", "The electrocardiograms that begin at a second, with their curves",
            "ecgs",
            [
                APIParameter(
                    "start", .time, .operand, isRequired: true, "when it begins, as `ecgs` lists it"
                )
            ]),
        APIRoute(
            "year", "A year beside the one before", "year",
            [
                APIParameter(
                    "year", .number(1900...9998), .operand,
                    "the year; the newest with data by default")
            ]),
        APIRoute(
            "trends", "A month beside the twelve months before it", "trends",
            [
                APIParameter(
                    "month", .month, .option("month"),
                    "the month; the newest with ten days of data by default")
            ]),
        APIRoute(
            "insights", "The insights, newest first", "insights",
            [
                APIParameter("limit", .number(1...1000), .option("limit"), "number of insights"),
                APIParameter(
                    "offset", .number(0...1_000_000), .option("offset"),
                    "number of the newest that are left out"),
            ]),
        APIRoute(
            "insights/{id}", "One insight", "insights",
            [APIParameter("id", .insight, .operand, isRequired: true, "the insight")]),
        APIRoute("analyses", "The weeks that were analysed", "analyses", [since, until]),
        APIRoute(
            "analyses/{number}", "One analysis", "analyses",
            [
                APIParameter(
                    "number", .number(1...Int64.max), .operand, isRequired: true,
                    "number of the analysis in the list")
            ]),
        APIRoute("outbox", "Where every record and sample is", "outbox"),
        APIRoute(
            "outbox/list", "Samples without their values, newest first", "outbox list",
            APIAction.samples + [
                APIParameter("limit", .number(1...10_000), .option("limit"), "number of samples")
            ]),
        APIRoute(
            "outbox/{id}", "One sample without its value", "outbox show",
            [
                APIParameter(
                    "id", .number(1...Int64.max), .operand, isRequired: true,
                    "number of the sample")
            ]),
        APIRoute("fhir", "What each FHIR server has of the archive", "fhir list"),
        APIRoute("sources", "The sources of the job file and the state of each", "sources"),
        APIRoute(
            "doctor", "This machine's conditions and where each value comes from", "doctor",
            of: .jobs),
        APIRoute(
            "sessions", "The sessions of browsers with these pages", "serve sessions list",
            of: .jobs),
        APIRoute(
            "access", "The audit log: who read, sent or removed what", "audit log",
            [APIParameter("since", .span, .option("since"), "only entries of the last time")]),
        APIRoute("notices", "What was wrong, and whether you were told", "notices list"),
        APIRoute("profile", "Your profile, as the backend has it", "profile"),
    ]
}

/// Whose data a path or an action is about.
public enum APIReach: Hashable, Sendable {
    /// The values, sources and samples of one account.
    case values
    /// The jobs, their runs and the machine: of one account, or of all.
    case jobs
    /// All accounts.
    case accounts
}

/// Who is logged in to the pages.
public enum APIViewer: Hashable, Sendable {
    /// The one person of a job file without accounts.
    case person
    /// Who looks after the accounts: sees states and freshness of all, and values of nobody.
    case caretaker
    /// A wearer, by the id of the account: sees what is their own.
    case wearer(String)

    public func maySee(_ reach: APIReach) -> Bool {
        switch self {
        case .person, .wearer: reach != .accounts
        case .caretaker: reach != .values
        }
    }

    /// The words that keep a command to what is the viewer's own.
    public var words: [String] {
        if case .wearer(let account) = self { ["--account=\(account)"] } else { [] }
    }

    /// The word for the viewer in answers.
    public var name: String {
        switch self {
        case .person: "person"
        case .caretaker: "caretaker"
        case .wearer: "wearer"
        }
    }

    /// The wearer's account.
    public var account: String? { if case .wearer(let account) = self { account } else { nil } }
}

/// What a person does on the pages: `POST /api/v1/actions/NAME`, with the fields as a JSON object.
public struct APIAction: Hashable, Sendable {
    public var name: String
    public var summary: String
    /// The command, such as `outbox retry`.
    public var command: [String]
    public var reach: APIReach
    /// Words that the command always gets.
    private var fixed: [String]
    public var parameters: [APIParameter]

    /// The key of the command's result in the schema of results.
    public var resultKey: String { command.joined(separator: "-") }

    /// Returns the command with the fields of a request.
    public func words(_ fields: [(name: String, value: String)]) throws(APIFault) -> [String] {
        try commandWords(command + fixed, parameters, fields)
    }

    private init(
        _ name: String, _ summary: String, _ command: String, with fixed: [String] = [],
        of reach: APIReach = .values, _ parameters: [APIParameter]
    ) {
        (self.name, self.summary, self.fixed, self.reach) = (name, summary, fixed, reach)
        self.command = command.split(separator: " ").map { String($0) }
        self.parameters = parameters
    }

    /// Which samples of the outbox are meant.
    static let samples: [APIParameter] = [
        APIParameter(
            "state",
            .choice([
                "queued", "sending", "accepted", "confirmed", "stored", "unconfirmed", "rejected",
                "set-aside",
            ]), .option("in-state"), "only samples in this state"),
        APIParameter("kind", .type, .option("type"), "only samples of this kind"),
    ]

    private static let sample = APIParameter(
        "id", .number(1...Int64.max), .operand, isRequired: true, "number of the sample")

    private static let session = APIParameter(
        "session", .session, .operand, isRequired: true, "the session")

    private static let job = APIParameter("job", .job, .operand, isRequired: true, "the job")

    /// The same for an action, which always wants a state.
    private static var chosenSamples: [APIParameter] {
        var parameters = samples
        parameters[0].isRequired = true
        return parameters
    }

    /// Every action.
    public static let all: [APIAction] = [
        APIAction(
            "pause", "Pause a job", "pause", of: .jobs,
            [
                job, APIParameter("for", .span, .option("for"), "length of the pause"),
                APIParameter("until", .time, .option("until"), "end of the pause"),
                APIParameter("reason", .note, .option("reason"), "a note that `explain` shows"),
            ]),
        APIAction("resume", "Resume a paused job", "resume", of: .jobs, [job]),
        APIAction(
            "run", "Ask for a run of a job, which the loop starts", "run", with: ["--ask"],
            of: .jobs, [job]),
        APIAction(
            "cancel", "Cancel an unfinished run", "cancel", of: .jobs,
            [
                APIParameter(
                    "run", .number(1...Int64.max), .operand, isRequired: true, "number of the run")
            ]),
        APIAction(
            "retry", "Retry a run that failed, was cancelled or expired, or the last run of a job",
            "retry", of: .jobs,
            [
                APIParameter("run", .number(1...Int64.max), .operand, "number of the run"),
                APIParameter("job", .job, .operand, "the job"),
            ]),
        APIAction(
            "outbox-retry", "Queue samples again", "outbox retry", with: ["--yes"], chosenSamples),
        APIAction(
            "outbox-discard", "Give up samples", "outbox discard", with: ["--yes"], chosenSamples),
        APIAction(
            "sample-retry", "Queue one sample again", "outbox retry", with: ["--yes"], [sample]),
        APIAction(
            "sample-discard", "Give up one sample", "outbox discard", with: ["--yes"], [sample]),
        APIAction(
            "session-end", "End the session of a browser", "serve sessions end", of: .jobs,
            [session]),
        APIAction(
            "sessions-end", "End all sessions of browsers", "serve sessions end", with: ["--all"],
            of: .jobs,
            [APIParameter("except", .session, .option("except"), "a session that goes on")]),
    ]
}
