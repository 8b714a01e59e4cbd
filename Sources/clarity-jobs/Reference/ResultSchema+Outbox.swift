import Reports

// The results of the commands on the outbox.

extension ResultSchema {
    private static func integers(_ fields: KeyValuePairs<String, String>) -> ValueType {
        .object(fields.map { Field($0.key, .integer, $0.value) })
    }

    static var outbox: [Field] {
        [
            .init("balanced", .boolean, "whether the sums hold"),
            .init(
                "records",
                integers([
                    "read": "records that were read, each once",
                    "queued": "of them queued as samples",
                    "known": "of them known before",
                    "paired": "of them second halves of a blood pressure",
                    "folded": "of them part of days, nights and workouts",
                    "repeated": "of them repeated",
                    "unmapped": "of them without a field at the backend, kept here alone",
                    "refused": "of them refused",
                    "before_since": "of them before `since`",
                ]), "what became of the records"),
            .init(
                "days_and_nights",
                integers([
                    "made": "days, nights and workouts that were made",
                    "queued": "of them queued",
                    "known": "of them known before",
                    "replaced": "of them in place of unsent ones",
                    "corrected": "of them corrections of sent ones",
                    "refused": "of them refused",
                    "before_since": "of them before `since`",
                ]), "what became of the days, nights and workouts"),
            .init(
                "ledger",
                integers([
                    "readings": "readings of sources",
                    "open": "readings under way",
                    "interrupted": "readings that were cut short",
                    "samples": "samples by the ledger",
                    "from_before": "samples from before there was a ledger",
                    "removed": "samples that were removed",
                ]), "the readings"),
            .init(
                "outbox",
                integers([
                    "samples": "samples in the outbox",
                    "confirmed": "samples that the backend confirmed",
                    "stored": "samples that the backend stored",
                    "accepted": "samples that the backend processes",
                    "unconfirmed": "samples that the backend never confirmed",
                    "rejected": "samples that the backend refused",
                    "discarded": "samples that a person discarded",
                    "erased": "samples that a person erased at the backend",
                    "set_aside": "samples that need a person",
                    "waiting": "samples that wait to be sent",
                ]), "the samples by state"),
            .init("unmapped", .map(.integer), "records without a field, by type"),
            .init("refused", .map(.integer), "refused records by reason"),
            .init(
                "refused_days_and_nights", .map(.integer),
                "refused days, nights and workouts by reason"),
            .init(
                "possibly_doubled",
                integers([
                    "samples": "samples that the backend may have twice",
                    "copies": "copies at most",
                ]), "samples that the backend may have twice"),
            .init(
                "for_a_person",
                .list(
                    .object([
                        .init("type", .text, "type of the samples"),
                        .init("state", .text, "their state"),
                        .init("reason", .text, "why they need a person"),
                        .init("count", .integer, "number of samples"),
                    ])), "the samples that need a person"),
        ]
    }

    static var outboxErase: [Field] {
        [
            .init("uploads_erased", .integer, "uploads that the backend had and no longer has"),
            .init("erased", .map(.integer), "their samples by type"),
            .init("uploads_still_there", .integer, "uploads that the backend still has"),
            .init(
                "uploads_unproven", .integer,
                "uploads that the backend did not know before it was told to delete them"),
            .init("uploads_left", .integer, "uploads that an error left for the next call"),
            .init(
                "without_deletion", .map(.integer),
                "samples by type that went by an endpoint without a deletion"),
            .init(
                "untraceable", .integer,
                "samples that the backend has under an id that is no longer kept here"),
            .init("in_doubt", .integer, "samples of which an unanswered send may have left copies"),
        ]
    }

    static var outboxSample: [Field] {
        [
            .init("id", .integer, "number of the sample"),
            .init("type", .text, "its type"),
            .init("start", .instant, "start of the sample"),
            .init("end", .instant, "end of the sample"),
            .init("state", .text, "its state"),
            .init("failures", .integer, "number of failed sends"),
            .init(maybe: "hold", .text, "the rule that keeps it back"),
            .init(maybe: "reason", .text, "why it is in this state"),
            .init("possible_sends", .integer, "number of sends without an answer"),
            .init(maybe: "as_of", .instant, "when a day's value was true"),
        ]
    }

    static var batchNumber: Field {
        .init(maybe: "batch", .integer, "number of its batch")
    }

    static var outboxShow: [Field] {
        outboxSample + [
            .init(maybe: "server_words", .text, "what the backend said"),
            .init(
                maybe: "batch",
                .either([
                    .integer,
                    .object([
                        .init("id", .integer, "number of the batch"),
                        .init("state", .text, "its state"),
                        .init("route", .text, "the route by which it is sent"),
                        .init("made_at", .instant, "when it was made"),
                        .init("attempts", .integer, "number of sends"),
                        .init(maybe: "processing_id", .text, "the backend's id of the upload"),
                        .init(maybe: "accepted_at", .instant, "when the backend accepted it"),
                        .init(maybe: "finished_at", .instant, "when it ended"),
                        .init(maybe: "reason", .text, "why it ended so"),
                    ]),
                ]), "its batch; only the number if the batch was removed"),
            .init(maybe: "value", .list(.text), "the values; only with --values at a terminal"),
        ]
    }
}
