import Reports

// The results of the commands that check, and of those about notices.

extension ResultSchema {
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
