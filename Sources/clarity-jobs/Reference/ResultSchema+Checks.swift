import Reports

// The results of the commands that check, and of those about notices.

extension ResultSchema {
    static var auditLog: [Field] {
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

    static var auditProof: [Field] {
        [
            .init("sound", .boolean, "whether the log is complete; this form is that of --verify"),
            .init("entries", .integer, "number of entries"),
            .init("pruned", .integer, "number of entries that were pruned"),
            .init("head", .text, "hash of the last entry"),
            .init(maybe: "broken_at", .integer, "number of the first entry that is wrong"),
            .init(maybe: "reason", .text, "what is wrong with it"),
        ]
    }

    static var backend: [Field] {
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

    static var notifyTest: [Field] {
        [
            .init("target", .text, "name of the target"),
            .init("sent", .boolean, "whether the message was sent"),
            .init(maybe: "fault", .text, "why it was not"),
        ]
    }
}
