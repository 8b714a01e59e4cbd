// The results of the commands on jobs.

extension ResultSchema {
    static var dryRun: [ResultField] {
        [
            .init("job", .text, "id of the job"),
            .init("shown", .list(.text), "each request or message that would be sent, in words"),
            .init("requests", .integer, "number of requests to the backend"),
            .init("counts", .map(.integer), "what the run would count"),
            .init("notes", .list(.text), "remarks of the worker"),
        ]
    }

    static var commandDryRun: [ResultField] {
        [
            .init("job", .text, "id of the job"),
            .init("words", .list(.text), "the command line"),
            .init(maybe: "program", .text, "path of the program; none if there is no such program"),
            .init("folder", .text, "the working directory"),
            .init("environment", .list(.text), "names of the environment variables"),
            .init("output_limit_bytes", .integer, "how much of the output is kept"),
        ]
    }

    static var statusGoal: [ResultField] {
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

    static var statusOutbox: [ResultField] {
        [
            .init("waiting", .integer, "number of samples that wait to be sent"),
            .init("accepted", .integer, "number of samples that the backend processes"),
            .init("for_person", .integer, "number of samples that need a person"),
        ]
    }

    static var statusSession: [ResultField] {
        [
            .init("logged_in", .boolean, "whether somebody is logged in"),
            .init(maybe: "expires_at", .instant, "when the access token expires"),
            .init(
                maybe: "renewal_refused_since", .instant,
                "since when the backend refuses to renew the session; jobs wait for a login"),
        ]
    }

    static var statusJob: [ResultField] {
        [
            .init("job", .text, "id of the job"),
            .init(maybe: "last_success_at", .instant, "end of its last successful run"),
            .init("words", .text, "the state of the job in words"),
            .init("overdue", .boolean, "whether its run should have started, and no scheduler ran"),
        ]
    }

    static var statusInstallation: [ResultField] {
        [
            .init("state_directory", .text, "path of the state directory"),
            .init("job_file", .text, "path of the job file"),
            .init("time_zone", .text, "the time zone that days follow"),
            runningLoops,
            .init(maybe: "last_look_at", .instant, "when a scheduler last decided"),
        ]
    }

    static var runningLoops: ResultField {
        .init(
            "loops",
            .list(
                .object([
                    .init(maybe: "machine", .text, "name of its machine; for a shared database"),
                    .init("is_standby", .boolean, "whether it waits for another loop to end"),
                    .init("process", .integer, "process id of the loop"),
                    .init("since", .instant, "start of the loop"),
                ])), "the running loops")
    }

    static var status: [ResultField] {
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

    static var statusLines: [ResultType] {
        [
            ("goal", statusGoal), ("outbox", statusOutbox), ("session", statusSession),
            ("job", statusJob), ("installation", statusInstallation),
        ].map { name, fields in
            .object([ResultField("what", .text, "`\(name)`")] + fields)
        }
    }

    static var statusAll: [ResultField] {
        [
            .init("holds", .boolean, "whether every account is fresh and no job is overdue"),
            .init(
                "accounts", .list(.object(statusAccount)),
                "the accounts; with --quiet those that are not fresh"),
        ]
    }

    static var statusAccount: [ResultField] {
        [
            .init("account", .text, "id of the account, or name of a job file without accounts"),
            .init("state", .text, "`fresh`, `overdue`, `not_fresh` or `unknown`"),
            .init(maybe: "until", .instant, "when the first goal is missed if nothing arrives"),
            .init(maybe: "since", .instant, "since when a goal is missed or a job overdue"),
            .init("missed", .list(.text), "the goals that are missed"),
            .init("why", .list(.text), "the reasons, and other faults of its jobs, in words"),
            .init(maybe: "waiting", .integer, "number of samples that wait to be sent"),
            .init(maybe: "for_person", .integer, "number of samples that need a person"),
            .init(maybe: "logged_in", .boolean, "whether somebody is logged in"),
            .init(maybe: "last_reading_at", .instant, "when a source was last read to its end"),
            .init(maybe: "known_at", .instant, "when an attempt last reported all this"),
        ]
    }

    static var list: [ResultField] {
        [
            .init("job", .text, "id of the job"),
            .init("kind", .text, "kind of the job"),
            .init("class", .text, "class of the job"),
            .init(maybe: "next", .instant, "when it is due next"),
            .init(
                maybe: "set_back_until", .instant,
                "when the schedule goes on, because the clock was set back"),
            .init("state", .text, "`disabled`, `idle`, `enqueued` or `running`"),
            .init(maybe: "overdue", .text, "since when no scheduler has run, in words"),
            .init("waiting_on", .list(.shared("deferral")), "what holds the job back now"),
        ]
    }

    static var next: [ResultField] {
        [
            .init("job", .text, "id of the job"),
            .init("at", .instant, "the occurrence"),
            .init("local", .text, "the occurrence in the time zone of the schedule"),
            .init(maybe: "note", .text, "what a clock change does to it; only with --around-dst"),
        ]
    }

    static var heldBack: [ResultField] {
        [
            .init("times", .integer, "number of times"),
            .init("total_ms", .integer, "sum of the times in milliseconds"),
        ]
    }

    static var factor: [ResultField] {
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

    static var explain: [ResultField] {
        [
            .init("job", .text, "id of the job"),
            .init("kind", .text, "kind of the job"),
            .init("class", .text, "class of the job"),
            .init("priority", .text, "priority of the job"),
            .init(maybe: "schedule", .text, "the schedule as the job file writes it"),
            .init(maybe: "next", .instant, "when it is due next"),
            .init(
                maybe: "set_back_until", .instant,
                "when the schedule goes on, because the clock was set back"),
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

    static var explainPast: [ResultField] {
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

    static var missed: [ResultField] {
        [
            .init("job", .text, "id of the job"),
            .init("first_at", .instant, "the first occurrence"),
            .init("latest_at", .instant, "the last one; the same if it is one"),
            .init("occurrences", .integer, "number of occurrences"),
            .init("fate", .text, "`coalesced`, `skipped`, `expired`, `paused` or `pending`"),
            .init(maybe: "run", .integer, "the run that stands for them, or that was in the way"),
            .init("words", .text, "the same in words"),
        ]
    }

    static var simulatedAccounts: [ResultField] {
        [
            .init("accounts", .integer, "number of accounts"),
            .init("jobs", .integer, "number of jobs of all accounts"),
            .init("from", .instant, "start of the simulated time"),
            .init("until", .instant, "end of the simulated time"),
            .init("runs", .integer, "number of runs"),
            .init("succeeded", .integer, "number of runs that succeeded"),
            .init("failed", .integer, "number of runs that failed or were cancelled"),
            .init("expired", .integer, "number of runs whose time was over before they started"),
            .init("missed", .integer, "number of occurrences that started no run of their own"),
            .init("attempts", .integer, "number of attempts"),
            .init(
                maybe: "late_median_ms", .integer,
                "how late half of the runs started at most, in milliseconds"),
            .init(
                maybe: "late_p99_ms", .integer,
                "how late 99 in 100 of the runs started at most, in milliseconds"),
            .init(maybe: "latest_ms", .integer, "how late the latest run started"),
            .init(maybe: "latest_job", .text, "the job of that run"),
            .init("most_at_once", .integer, "most attempts that ran at the same time"),
            .init("max_parallel", .integer, "how many attempts may run at the same time"),
            .init("most_in_minute", .integer, "most attempts that started in one minute"),
            .init("decisions", .integer, "number of decisions"),
            .init(
                "processor_ms", .integer,
                "processor time to decide and record on this machine, in milliseconds"),
            .init("history_bytes", .integer, "size of the history at the end"),
        ]
    }

    static var simulate: [ResultField] {
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
}
