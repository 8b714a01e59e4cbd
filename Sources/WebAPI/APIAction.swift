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
