import ClarityScheduler

// The results of the commands, as a table. `docs/json.md` is generated from it.

extension ResultSchema {
    /// The results of all commands that have one; the others print a text or a stream of their own.
    static var commands: [CommandResult] {
        let runCommands = [
            CommandResult("run", .list(.shared("run"))),
            CommandResult("dry-run", .either([.object(dryRun), .object(commandDryRun)])),
            CommandResult("status", .object(status), line: .either(statusLines)),
            CommandResult("list", .list(.object(list))),
            CommandResult("next", .list(.object(next))),
            CommandResult("explain", .either([.object(explain), .object(explainPast)])),
            CommandResult("simulate", .object(simulate)),
            CommandResult("history", .list(.shared("run"))),
            CommandResult("history show", .object(historyShow)),
            CommandResult("pause", .list(.object(pause))),
            CommandResult("resume", .list(.object(pause))),
            CommandResult("backfill", .object(backfill)),
            CommandResult("cancel", .list(.object(request))),
            CommandResult("retry", .list(.object(request))),
            CommandResult("audit", .list(.object(audit))),
            CommandResult(
                "audit log", .either([.list(.object(auditLog)), .object(auditProof)]),
                line: .either([.object(auditLog), .object(auditProof)])),
            CommandResult("doctor", .either([.object(doctor), .object(backend)])),
            CommandResult("validate", .list(.object(validate))),
        ]
        let dataCommands = [
            CommandResult("receive token add", .object([tokenName, token])),
            CommandResult(
                "receive token list",
                .list(
                    .object([
                        tokenName, ResultField("added_at", .instant, "when the token was added"),
                    ]))),
            CommandResult("receive token revoke", .object([tokenName])),
            CommandResult("notices list", .list(.object(notices))),
            CommandResult("notify test", .list(.object(notifyTest))),
            CommandResult("import", .object(importing)),
            CommandResult("export-data", .object(exportData)),
            CommandResult("sources", .list(.object(sources))),
            CommandResult("summary", .object(summary), line: .object(summaryLine)),
            CommandResult(
                "metrics", .either([.list(.object(stocks)), .object(metrics)]),
                line: .either([.object(stocks), .object(metricsLine)])),
            CommandResult(
                "records", .either([.list(.object(recordTypes)), .object(records)]),
                line: .either([.object(recordTypes), .object(recordRow)])),
            CommandResult(
                "insights", .either([.list(.shared("insight")), .shared("insight")]),
                line: .shared("insight")),
            CommandResult("profile", .object(profile)),
            CommandResult("archive list", .list(.object(archive))),
            CommandResult("archive show", .object(archiveShow)),
            CommandResult("outbox", .object(outbox)),
            CommandResult("outbox list", .list(.object(outboxSample + [batchNumber]))),
            CommandResult("outbox show", .object(outboxShow)),
            CommandResult(
                "outbox retry",
                .object([
                    ResultField(
                        "retried", .integer, "number of samples that are sent or read again")
                ])),
            CommandResult(
                "outbox discard",
                .object([
                    ResultField("discarded", .integer, "number of samples that were given up")
                ])),
        ]
        let stateCommands = [
            CommandResult("auth login", .object(login)),
            CommandResult("auth register", .object(register)),
            CommandResult(
                "auth verify",
                .object([
                    ResultField("email", .text, "the address that was confirmed")
                ])),
            CommandResult("auth status", .object(authStatus)),
            CommandResult("auth logout", .object(logout)),
            CommandResult("key rotate", .object(keyRotate)),
            CommandResult("key status", .object(keyStatus)),
            CommandResult(
                "backup",
                .object(
                    backup + [
                        ResultField(
                            maybe: "key_place", .text, "where the key is that opens the backup")
                    ])),
            CommandResult("backup list", .list(.either([.object(backup), .object(faultyBackup)]))),
            CommandResult("restore", .object(restore)),
        ]
        return runCommands + dataCommands + stateCommands
    }

    /// The objects that occur in several results.
    static var shared: [(String, [ResultField])] {
        [
            ("run", run), ("attempt", attempt), ("deferral", deferral),
            ("deferral_span", deferralSpan), ("pause", pauseFields), ("insight", insight),
        ]
    }

    /// Returns the words of an enum as a reader of the results meets them.
    private static func words<Word: CaseIterable & RawRepresentable<String>>(
        _ type: Word.Type
    ) -> String {
        type.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")
    }

    private static var tokenName: ResultField { .init("name", .text, "name of the token") }

    private static var token: ResultField {
        .init("token", .text, "the token, which nothing shows again")
    }

    // MARK: Runs

    private static var runHead: [ResultField] {
        [
            .init("run", .integer, "number of the run"),
            .init("job", .text, "id of the job"),
            .init("kind", .text, "kind of the job"),
            .init(
                "trigger", .text, "what made the run: \(words(Trigger.self))"),
            .init(
                "state", .text,
                words(RunState.self)),
            .init("attempts", .integer, "number of attempts so far"),
            .init("scheduled_for", .instant, "when the run was due"),
        ]
    }

    private static var run: [ResultField] {
        runHead + [
            .init(maybe: "started_at", .instant, "start of the first attempt"),
            .init(maybe: "finished_at", .instant, "end of the run"),
            .init("summary", .text, "what the run did or why it waits, in words"),
            .init("waiting_on", .list(.shared("deferral")), "what holds the run back now"),
            .init("counts", .map(.integer), "what the run counted, such as `samples_sent`"),
            .init(maybe: "failure", .text, "why the last attempt failed"),
            .init(
                maybe: "stop_reason", .text, "why the run was stopped: \(words(StopReason.self))"),
            .init(maybe: "not_before", .instant, "when a waiting run may start again"),
            .init(maybe: "needs", .text, "the condition that the run asked for"),
            .init(maybe: "caused_by", .integer, "number of the run that started this one"),
            .init("notes", .list(.text), "remarks of the attempts"),
        ]
    }

    private static var historyShow: [ResultField] {
        run + [
            .init("attempt_list", .list(.shared("attempt")), "the attempts, first one first"),
            .init(
                "deferrals", .list(.shared("deferral_span")), "what the run waited for, and when"),
        ]
    }

    private static var attempt: [ResultField] {
        [
            .init("attempt", .integer, "number of the attempt, from 1"),
            .init("result", .text, words(Attempt.Result.self)),
            .init("started_at", .instant, "start of the attempt"),
            .init(maybe: "finished_at", .instant, "end of the attempt"),
            .init(maybe: "stop_reason", .text, "why it was stopped, if it was"),
            .init(maybe: "reason", .text, "why it failed"),
            .init("counts", .map(.integer), "what the attempt counted"),
            .init("peak_memory_bytes", .integer, "largest resident memory of its process"),
            .init(
                maybe: "output",
                .object([
                    .init("head", .text, "the beginning, or all of it"),
                    .init("left_out_bytes", .integer, "length of what was left out"),
                    .init("tail", .text, "the end, if something was left out"),
                ]), "output of a job of kind `command`"),
        ]
    }

    private static var deferral: [ResultField] {
        [
            .init("reason", .text, words(WaitReason.self)),
            .init("subject", .text, "what holds the run back, such as `network`"),
            .init("wanted", .text, "the required value, in words"),
            .init("measured", .text, "the measured value, in words"),
            .init("source", .text, "where the measured value comes from"),
        ]
    }

    private static var deferralSpan: [ResultField] {
        deferral + [
            .init("since", .instant, "when it began to hold the run back"),
            .init(maybe: "until", .instant, "when it ended; none if it has not"),
        ]
    }

    private static var pauseFields: [ResultField] {
        [
            .init("since", .instant, "start of the pause"),
            .init(maybe: "until", .instant, "end of the pause; none if `resume` ends it"),
            .init("reason", .text, "the note given with the pause; may be empty"),
        ]
    }

    private static var pause: [ResultField] {
        [
            .init("job", .text, "id of the job"),
            .init(maybe: "paused", .shared("pause"), "the job's pause; none if it is not paused"),
        ]
    }

    private static var request: [ResultField] {
        [
            .init("run", .integer, "number of the run"),
            .init("message", .text, "what happens to it, in words"),
        ]
    }

    private static var backfill: [ResultField] {
        [
            .init("job", .text, "id of the job"),
            .init("from", .instant, "start of the range"),
            .init("to", .instant, "end of the range"),
            .init(
                "enqueued",
                .list(
                    .object([
                        .init("run", .integer, "number of the run"),
                        .init("scheduled_for", .instant, "the occurrence"),
                    ])), "the new runs"),
            .init("waiting_already", .integer, "number of occurrences whose run waits already"),
            .init("succeeded_already", .integer, "number of occurrences that have succeeded"),
        ]
    }

    // MARK: Jobs

    private static var dryRun: [ResultField] {
        [
            .init("job", .text, "id of the job"),
            .init("shown", .list(.text), "each request or message that would be sent, in words"),
            .init("requests", .integer, "number of requests to the backend"),
            .init("counts", .map(.integer), "what the run would count"),
            .init("notes", .list(.text), "remarks of the worker"),
        ]
    }

    private static var commandDryRun: [ResultField] {
        [
            .init("job", .text, "id of the job"),
            .init("words", .list(.text), "the command line"),
            .init(maybe: "program", .text, "path of the program; none if there is no such program"),
            .init("folder", .text, "the working directory"),
            .init("environment", .list(.text), "names of the environment variables"),
            .init("output_limit_bytes", .integer, "how much of the output is kept"),
        ]
    }

    private static var statusGoal: [ResultField] {
        [
            .init("goal", .text, "what has to be fresh"),
            .init("holds", .boolean, "whether the goal is met"),
            .init("default", .boolean, "whether the job file does not name the goal"),
            .init("within_seconds", .integer, "the age that is allowed"),
            .init(maybe: "age_seconds", .integer, "the age; none if nothing has arrived"),
            .init(
                maybe: "blame", .text, "`source`, `job`, `backend`, `person`, `login` or `no_job`"),
            .init(maybe: "why", .text, "the blame in words"),
        ]
    }

    private static var statusOutbox: [ResultField] {
        [
            .init("waiting", .integer, "number of samples that wait to be sent"),
            .init("accepted", .integer, "number of samples that the backend processes"),
            .init("for_person", .integer, "number of samples that need a person"),
        ]
    }

    private static var statusSession: [ResultField] {
        [
            .init("logged_in", .boolean, "whether somebody is logged in"),
            .init(maybe: "expires_at", .instant, "when the access token expires"),
        ]
    }

    private static var statusJob: [ResultField] {
        [
            .init("job", .text, "id of the job"),
            .init(maybe: "last_success_at", .instant, "end of its last successful run"),
            .init("words", .text, "the state of the job in words"),
            .init("overdue", .boolean, "whether its run should have started, and no scheduler ran"),
        ]
    }

    private static var statusInstallation: [ResultField] {
        [
            .init("state_directory", .text, "path of the state directory"),
            .init("job_file", .text, "path of the job file"),
            .init(
                "loops",
                .list(
                    .object([
                        .init("process", .integer, "process id of the loop"),
                        .init("since", .instant, "start of the loop"),
                    ])), "the running loops"),
            .init(maybe: "last_look_at", .instant, "when a scheduler last decided"),
        ]
    }

    private static var status: [ResultField] {
        [
            .init("holds", .boolean, "whether every goal is met and no job is overdue"),
            .init("goals", .list(.object(statusGoal)), "the goals; with --quiet the missed ones"),
            .init(maybe: "outbox", .object(statusOutbox), "the outbox; not with --quiet"),
            .init(maybe: "session", .object(statusSession), "the login; not with --quiet"),
            .init("jobs", .list(.object(statusJob)), "the jobs; with --quiet the overdue ones"),
            .init(
                maybe: "installation", .object(statusInstallation),
                "where everything is; not with --quiet"),
        ]
    }

    private static var statusLines: [ResultType] {
        [
            ("goal", statusGoal), ("outbox", statusOutbox), ("session", statusSession),
            ("job", statusJob), ("installation", statusInstallation),
        ].map { name, fields in
            .object([ResultField("what", .text, "`\(name)`")] + fields)
        }
    }

    private static var list: [ResultField] {
        [
            .init("job", .text, "id of the job"),
            .init("kind", .text, "kind of the job"),
            .init("class", .text, "class of the job"),
            .init(maybe: "next", .instant, "when it is due next"),
            .init("state", .text, "`disabled`, `idle`, `enqueued` or `running`"),
            .init(maybe: "overdue", .text, "since when no scheduler has run, in words"),
            .init("waiting_on", .list(.shared("deferral")), "what holds the job back now"),
        ]
    }

    private static var next: [ResultField] {
        [
            .init("job", .text, "id of the job"),
            .init("at", .instant, "the occurrence"),
            .init("local", .text, "the occurrence in the time zone of the schedule"),
            .init(maybe: "note", .text, "what a clock change does to it; only with --around-dst"),
        ]
    }

    private static var heldBack: [ResultField] {
        [
            .init("times", .integer, "number of times"),
            .init("total_ms", .integer, "sum of the times in milliseconds"),
        ]
    }

    private static var factor: [ResultField] {
        deferral + [
            .init("verdict", .text, "`met`, `assumed`, `unmet` or `dropped`"),
            .init(maybe: "drops_at", .instant, "when the constraint is dropped"),
            .init(maybe: "since", .instant, "since when it holds the waiting run back"),
            .init(
                maybe: "last_7_days",
                .object(
                    heldBack + [
                        .init("runs", .integer, "number of runs that it held back"),
                        .init(maybe: "median_ms", .integer, "median of the times in milliseconds"),
                    ]), "how often it held the job back"),
        ]
    }

    private static var explain: [ResultField] {
        [
            .init("job", .text, "id of the job"),
            .init("kind", .text, "kind of the job"),
            .init("class", .text, "class of the job"),
            .init("priority", .text, "priority of the job"),
            .init(maybe: "schedule", .text, "the schedule as the job file writes it"),
            .init(maybe: "next", .instant, "when it is due next"),
            .init("state", .text, "`idle`, `enqueued` or `running`"),
            .init(maybe: "run", .integer, "number of the unfinished run"),
            .init(maybe: "trigger", .text, "what made that run"),
            .init(maybe: "scheduled_for", .instant, "when that run was due"),
            .init(maybe: "waiting_run", .integer, "number of the run that waits behind it"),
            .init(maybe: "enqueued_at", .instant, "when that run was made"),
            .init("attempts", .integer, "number of its attempts"),
            .init(maybe: "running_since", .instant, "start of the running attempt"),
            .init(maybe: "owner", .text, "the process that runs it"),
            .init(maybe: "given_up_at", .instant, "when the run expires if it has not started"),
            .init(maybe: "paused", .shared("pause"), "the job's pause"),
            .init("constraints", .list(.object(factor)), "the constraints of the job"),
            .init("reasons", .list(.object(factor)), "every other reason to wait"),
            .init("changes", .list(.text), "what would let the job start, in words"),
            .init(
                "start",
                .object([
                    .init(
                        "certainty", .text,
                        "`running`, `now`, `certain`, `at_latest`, `estimate`, `unknown` or `never`"
                    ),
                    .init(maybe: "at", .instant, "the likely start"),
                    .init(
                        maybe: "not_before", .instant, "the earliest start, if the start is unknown"
                    ),
                    .init("words", .text, "the same in words"),
                ]), "when the job starts"),
        ]
    }

    private static var explainPast: [ResultField] {
        [
            .init("job", .text, "id of the job"),
            .init("scheduled_for", .instant, "the occurrence; this form is that of --at"),
            .init("fate", .text, "`run`, `pending`, `coalesced`, `skipped`, `expired` or `paused`"),
            .init(maybe: "down_since", .instant, "since when no scheduler ran"),
            .init(maybe: "down_until", .instant, "until when no scheduler ran"),
            .init(maybe: "run", .shared("run"), "the run of the occurrence"),
            .init("deferrals", .list(.shared("deferral_span")), "what that run waited for"),
        ]
    }

    private static var simulate: [ResultField] {
        let held: ResultType = .list(
            .object([.init("subject", .text, "what held it back")] + heldBack))
        let fates = ["coalesced", "skipped", "expired", "paused"].map {
            ResultField($0, .integer, "number of occurrences that ended as `\($0)`")
        }
        return [
            .init("from", .instant, "start of the simulated time"),
            .init("until", .instant, "end of the simulated time"),
            .init(
                "runs",
                .list(
                    .object([
                        .init("run", .integer, "number of the simulated run"),
                        .init("job", .text, "id of the job"),
                        .init("trigger", .text, "what made the run"),
                        .init("state", .text, "its state at the end"),
                        .init("scheduled_for", .instant, "when it was due"),
                        .init("enqueued_at", .instant, "when it was made"),
                        .init(maybe: "started_at", .instant, "start of the first attempt"),
                        .init(maybe: "finished_at", .instant, "end of the run"),
                        .init("attempts", .integer, "number of attempts"),
                        .init(maybe: "stop_reason", .text, "why it was stopped, if it was"),
                        .init("held_back", held, "what held it back, and for how long"),
                    ])), "the runs"),
            .init(
                "jobs",
                .list(
                    .object(
                        [
                            .init("job", .text, "id of the job"),
                            .init("occurrences", .integer, "number of occurrences"),
                            .init("runs", .integer, "number of runs"),
                            .init("starts", .integer, "number of runs that started"),
                            .init("succeeded", .integer, "number of runs that succeeded"),
                        ] + fates + [
                            .init(
                                "worst_age_ms", .integer,
                                "longest time without a success, in milliseconds"),
                            .init("held_back", held, "what held the job back, and for how long"),
                        ])), "the jobs"),
        ]
    }

    // MARK: Checks

    private static var audit: [ResultField] {
        [
            .init("rule", .text, "name of the rule"),
            .init("offence", .boolean, "whether the rule is broken; else it is a remark"),
            .init("message", .text, "what was found"),
        ]
    }

    private static var auditLog: [ResultField] {
        [
            .init("number", .integer, "number of the entry"),
            .init("hash", .text, "hash of the entry and of all before it"),
            .init("at", .instant, "when it was written"),
            .init(maybe: "damaged", .boolean, "true if the entry cannot be decrypted"),
            .init(maybe: "action", .text, "what was done; none if damaged"),
            .init(maybe: "user", .text, "id of the account"),
            .init(maybe: "program", .text, "the command that did it; none if damaged"),
            .init(maybe: "job", .text, "id of the job"),
            .init(maybe: "run", .integer, "number of the run"),
            .init(maybe: "attempt", .integer, "number of the attempt"),
            .init(maybe: "counts", .map(.integer), "number of samples by type; none if damaged"),
            .init(maybe: "detail", .text, "more about it"),
        ]
    }

    private static var auditProof: [ResultField] {
        [
            .init("sound", .boolean, "whether the log is complete; this form is that of --verify"),
            .init("entries", .integer, "number of entries"),
            .init("pruned", .integer, "number of entries that were pruned"),
            .init("head", .text, "hash of the last entry"),
            .init(maybe: "broken_at", .integer, "number of the first entry that is wrong"),
            .init(maybe: "reason", .text, "what is wrong with it"),
        ]
    }

    private static var doctor: [ResultField] {
        [
            .init("at", .instant, "when the conditions were measured"),
            .init(
                "conditions",
                .list(
                    .object([
                        .init("name", .text, "name of the condition"),
                        .init(
                            "value", .any, "the value: boolean, integer or text; null if unknown"),
                        .init("words", .text, "the value in words"),
                        .init("source", .text, "where it comes from, or why it is unknown"),
                        .init("at", .instant, "when it was reported"),
                        .init(maybe: "to_know_more", .text, "what would make it known"),
                    ])), "the conditions of the machine"),
            .init(
                "heard",
                .list(
                    .object([
                        .init("subject", .text, "kind of change"),
                        .init(maybe: "fault", .text, "why clarity-jobs is not notified of it"),
                    ])), "the changes of which clarity-jobs is notified"),
        ]
    }

    private static var backend: [ResultField] {
        [
            .init(
                "ok", .boolean, "whether the backend can be used; this form is that of --backend"),
            .init(
                "findings",
                .list(
                    .object([
                        .init("subject", .text, "what was checked"),
                        .init("text", .text, "what was found"),
                        .init("good", .boolean, "whether it is as it should be"),
                    ])), "what was checked"),
        ]
    }

    private static var validate: [ResultField] {
        [
            .init("severity", .text, "`fault` or `warning`"),
            .init(maybe: "line", .integer, "line in the job file, from 1"),
            .init(maybe: "column", .integer, "column in that line, from 1"),
            .init(maybe: "path", .text, "path of the setting"),
            .init("message", .text, "what is wrong"),
            .init(maybe: "remedy", .text, "what mends it"),
        ]
    }

    private static var notices: [ResultField] {
        [
            .init("notice", .integer, "number of the notice"),
            .init("kind", .text, "kind of the notice"),
            .init("subject", .text, "what it is about, such as a job"),
            .init("text", .text, "the notice"),
            .init("raised_at", .instant, "when it began"),
            .init(maybe: "resolved_at", .instant, "when it was over"),
            .init("messages_sent", .integer, "number of messages that were sent"),
            .init("messages_waiting", .integer, "number of messages that wait"),
            .init("messages_perhaps_twice", .integer, "number of messages that may arrive twice"),
        ]
    }

    private static var notifyTest: [ResultField] {
        [
            .init("target", .text, "name of the target"),
            .init("sent", .boolean, "whether the message was sent"),
            .init(maybe: "fault", .text, "why it was not"),
        ]
    }
}
