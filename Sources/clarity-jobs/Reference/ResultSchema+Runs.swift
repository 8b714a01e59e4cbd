import ClarityScheduler

// The results of the commands on runs.

extension ResultSchema {
    static var runHead: [ResultField] {
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

    static var run: [ResultField] {
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

    static var historyShow: [ResultField] {
        run + [
            .init("attempt_list", .list(.shared("attempt")), "the attempts, first one first"),
            .init(
                "deferrals", .list(.shared("deferral_span")), "what the run waited for, and when"),
        ]
    }

    static var attempt: [ResultField] {
        [
            .init("attempt", .integer, "number of the attempt, from 1"),
            .init("result", .text, words(Attempt.Result.self)),
            .init("started_at", .instant, "start of the attempt"),
            .init(maybe: "finished_at", .instant, "end of the attempt"),
            .init(maybe: "stop_reason", .text, "why it was stopped, if it was"),
            .init(maybe: "reason", .text, "why it failed"),
            .init("counts", .map(.integer), "what the attempt counted"),
            .init(maybe: "machine", .text, "where it ran; for a shared database"),
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

    static var deferral: [ResultField] {
        [
            .init("reason", .text, words(WaitReason.self)),
            .init("subject", .text, "what holds the run back, such as `network`"),
            .init("wanted", .text, "the required value, in words"),
            .init("measured", .text, "the measured value, in words"),
            .init("source", .text, "where the measured value comes from"),
        ]
    }

    static var deferralSpan: [ResultField] {
        deferral + [
            .init("since", .instant, "when it began to hold the run back"),
            .init(maybe: "until", .instant, "when it ended; none if it has not"),
        ]
    }

    static var pauseFields: [ResultField] {
        [
            .init("since", .instant, "start of the pause"),
            .init(maybe: "until", .instant, "end of the pause; none if `resume` ends it"),
            .init("reason", .text, "the note given with the pause; may be empty"),
        ]
    }

    static var pause: [ResultField] {
        [
            .init("job", .text, "id of the job"),
            .init(maybe: "paused", .shared("pause"), "the job's pause; none if it is not paused"),
        ]
    }

    static var request: [ResultField] {
        [
            .init("run", .integer, "number of the run"),
            .init("message", .text, "what happens to it, in words"),
        ]
    }

    static var backfill: [ResultField] {
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
}
