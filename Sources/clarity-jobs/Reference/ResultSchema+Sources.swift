import Reports

// The results of the commands on sources, on what they push and on files of records.

extension ResultSchema {
    static var importing: [Field] {
        let numbers = [
            ("files", "number of files"),
            ("files_unchanged", "number of files that were read before"),
            ("files_unread", "number of files that cannot be read"),
            ("bytes_read", "number of bytes"),
            ("records_read", "number of records"),
            ("nights_without_sleep", "number of nights with time in bed only"),
            ("queued", "number of samples that were queued"),
            ("known", "number of samples that were known"),
            ("before_since", "number of samples before `since`"),
            ("paired", "number of second halves of a blood pressure"),
            ("folded", "number of records that became part of a day or night"),
            ("repeated", "number of records that occur twice"),
            ("metrics_queued", "number of days, nights and workouts that were queued"),
            ("metrics_known", "number of days, nights and workouts that were known"),
            ("metrics_replaced", "number of days, nights and workouts that replace unsent ones"),
            ("metrics_corrected", "number of days, nights and workouts that correct sent ones"),
            ("metrics_kept", "number of days, nights and workouts that stay as sent"),
            ("metrics_refused", "number of days, nights and workouts that were refused"),
            ("metrics_before_since", "number of days, nights and workouts before `since`"),
            ("pruned", "number of records of months that `cleanup` removed, which are not kept"),
            ("nested", "number of records within others that were skipped"),
            ("bad_samples", "number of samples of pushed files that are faulty"),
        ].map { Field($0, .integer, $1) }
        let counts = [
            ("samples", "number of samples by type"),
            ("made", "number of days, nights, workouts and sums by type"),
            ("unfinished", "number of days, nights and workouts that are not over, by type"),
            ("unmapped", "number of records without a field at the backend, by type"),
            ("refused", "number of refused records by reason"),
            ("made_refused", "number of refused days, nights and workouts by reason"),
            ("elements_refused", "number of elements without a date or too long, by name"),
        ].map { Field($0, .map(.integer), $1) }
        let personal = [
            ("by_source", "number of records by source; only with --report"),
            ("elements", "number of elements by name; only with --report"),
            ("attachments", "number of attachments by kind; only with --report"),
        ].map { Field(maybe: $0, .map(.integer), $1) }
        return [
            .init("name", .text, "name of the file"),
            .init("kind", .text, "kind of the source"),
            .init("time_zone", .text, "the time zone that days follow"),
            .init(maybe: "unchanged_since", .instant, "when an unchanged file was read"),
        ] + numbers + counts + personal + [
            .init(
                "malformations",
                .map(
                    .object([
                        .init("count", .integer, "how often it occurs"),
                        .init(maybe: "first_offset", .integer, "byte of the first one"),
                    ])), "faults of the file that did no harm, by name"),
            .init(
                maybe: "broke_at",
                .object([
                    .init("byte_offset", .integer, "where reading ended"),
                    .init("reason", .text, "why"),
                ]), "where the file is broken"),
        ]
    }

    static var sources: [Field] {
        [
            .init("kind", .text, "kind of the source"),
            .init("path", .text, "its path"),
            .init("state", .text, "whether it was read and has changed since"),
            .init(maybe: "problem", .text, "why it cannot be read"),
            .init(maybe: "read_at", .instant, "when it was last read"),
            .init("files", .integer, "number of files"),
            .init(maybe: "rejected", .integer, "number of rejected files of a spool"),
            .init(maybe: "time_zone", .text, "the time zone that its days follow"),
            .init("counts", .map(.integer), "what its last reading counted"),
        ]
    }
}
