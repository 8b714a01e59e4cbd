// The results of the commands that check, and of those about notices.

extension ResultSchema {
    static var audit: [ResultField] {
        [
            .init("rule", .text, "name of the rule"),
            .init("offence", .boolean, "whether the rule is broken; else it is a remark"),
            .init("message", .text, "what was found"),
        ]
    }

    static var auditLog: [ResultField] {
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

    static var auditProof: [ResultField] {
        [
            .init("sound", .boolean, "whether the log is complete; this form is that of --verify"),
            .init("entries", .integer, "number of entries"),
            .init("pruned", .integer, "number of entries that were pruned"),
            .init("head", .text, "hash of the last entry"),
            .init(maybe: "broken_at", .integer, "number of the first entry that is wrong"),
            .init(maybe: "reason", .text, "what is wrong with it"),
        ]
    }

    static var doctor: [ResultField] {
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

    static var backend: [ResultField] {
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

    static var validate: [ResultField] {
        [
            .init("severity", .text, "`fault` or `warning`"),
            .init(
                maybe: "file", .text, "path of the account's file that has it, if one does"),
            .init(maybe: "line", .integer, "line in the job file or in that file, from 1"),
            .init(maybe: "column", .integer, "column in that line, from 1"),
            .init(maybe: "path", .text, "path of the setting"),
            .init("message", .text, "what is wrong"),
            .init(maybe: "remedy", .text, "what mends it"),
        ]
    }

    static var notices: [ResultField] {
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

    static var notifyTest: [ResultField] {
        [
            .init("target", .text, "name of the target"),
            .init("sent", .boolean, "whether the message was sent"),
            .init(maybe: "fault", .text, "why it was not"),
        ]
    }
}
