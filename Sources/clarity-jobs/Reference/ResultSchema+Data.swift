// The results of the commands on health data, the login, the key and backups.

extension ResultSchema {
    // MARK: Sources

    static var exportData: [ResultField] {
        [
            .init("path", .text, "the folder or file"),
            .init("records", .integer, "number of records"),
            .init(
                "parts",
                .list(
                    .object([
                        .init("type", .text, "the type of the records"),
                        .init("name", .text, "name of its file or table"),
                        .init("records", .integer, "number of its records"),
                    ])), "what was written of each type"),
            .init("damaged", .list(.text), "months with damaged records, in words"),
        ]
    }

    static var importing: [ResultField] {
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
            ("metrics_queued", "number of days and nights that were queued"),
            ("metrics_known", "number of days and nights that were known"),
            ("metrics_replaced", "number of days and nights that replace unsent ones"),
            ("metrics_corrected", "number of days and nights that correct sent ones"),
            ("metrics_kept", "number of days and nights that stay as sent"),
            ("metrics_refused", "number of days and nights that were refused"),
            ("metrics_before_since", "number of days and nights before `since`"),
            ("nested", "number of records within others that were skipped"),
            ("bad_samples", "number of samples of pushed files that are faulty"),
        ].map { ResultField($0, .integer, $1) }
        let counts = [
            ("samples", "number of samples by type"),
            ("made", "number of days, nights and sums by type"),
            ("unfinished", "number of days and nights that are not over, by type"),
            ("unmapped", "number of records without a field at the backend, by type"),
            ("refused", "number of refused records by reason"),
            ("made_refused", "number of refused days and nights by reason"),
            ("elements_refused", "number of elements without a date or too long, by name"),
        ].map { ResultField($0, .map(.integer), $1) }
        let personal = [
            ("by_source", "number of records by source; only with --report"),
            ("elements", "number of elements by name; only with --report"),
            ("attachments", "number of attachments by kind; only with --report"),
        ].map { ResultField(maybe: $0, .map(.integer), $1) }
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

    static var sources: [ResultField] {
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

    // MARK: Health data

    static var summaryItem: [ResultField] {
        [
            .init("name", .text, "name of the measure"),
            .init(maybe: "value", .number, "the value"),
            .init("unit", .text, "its unit"),
            .init(maybe: "day", .day, "the day of the value"),
            .init(maybe: "as_of", .instant, "when the value was fetched or read"),
            .init("state", .text, "`fresh`, `stale` or `missing`"),
        ]
    }

    static var summary: [ResultField] {
        [
            .init("day", .day, "the day"),
            .init("time_zone", .text, "the time zone of days"),
            .init(maybe: "synced_at", .instant, "when metrics were last fetched"),
            .init(maybe: "read_at", .instant, "when the sources were last read"),
            .init("items", .list(.object(summaryItem)), "the measures"),
            .init(maybe: "insight", .shared("insight"), "the latest insight"),
        ]
    }

    /// A line is a measure, or the insight, which has an id and a narrative.
    static var summaryLine: [ResultField] {
        [
            .init("name", .text, "name of the measure, or `insight`"),
            .init(maybe: "value", .number, "the value of a measure"),
            .init(maybe: "unit", .text, "its unit"),
            .init(maybe: "day", .day, "the day of the value"),
            .init(maybe: "as_of", .instant, "when it was fetched or read"),
            .init(maybe: "state", .text, "`fresh`, `stale` or `missing`"),
            .init(maybe: "id", .text, "id of the insight"),
            .init(maybe: "narrative", .text, "text of the insight"),
        ]
    }

    static var stocks: [ResultField] {
        [
            .init("type", .text, "the type"),
            .init("count", .integer, "number of stored metrics"),
            .init("first_at", .instant, "time of the first one"),
            .init("last_at", .instant, "time of the last one"),
            .init("measures", .list(.text), "the measures of the type"),
            .init(maybe: "synced_at", .instant, "when metrics were last fetched"),
            .init(maybe: "read_at", .instant, "when the sources were last read"),
        ]
    }

    static var metricsDay: [ResultField] {
        [
            .init("day", .day, "the day"),
            .init("count", .integer, "number of values"),
            .init(maybe: "min", .number, "least value, where a day has a mean"),
            .init(maybe: "mean", .number, "mean of the values"),
            .init(maybe: "max", .number, "greatest value, where a day has a mean"),
            .init(maybe: "total", .number, "sum, where a day has a sum"),
        ]
    }

    static var measure: [ResultField] {
        [.init("measure", .text, "the measure"), .init("unit", .text, "its unit")]
    }

    static var metrics: [ResultField] {
        [
            .init("type", .text, "the type"),
            .init("since", .day, "the first day"),
            .init("until", .day, "the last day"),
            .init("time_zone", .text, "the time zone of days"),
            .init(maybe: "synced_at", .instant, "when metrics were last fetched"),
            .init(maybe: "read_at", .instant, "when the sources were last read"),
            .init("damaged", .integer, "number of damaged rows that are left out"),
            .init(
                "measures",
                .list(
                    .object(
                        measure + [
                            .init("days", .list(.object(metricsDay)), "the days that have values")
                        ])), "the measures of the type"),
        ]
    }

    static var metricsLine: [ResultField] { measure + metricsDay }

    static var recordTypes: [ResultField] {
        [
            .init("type", .text, "the type, as its source names it"),
            .init("records", .integer, "number of records"),
            .init("first_at", .instant, "when the first one starts"),
            .init("last_at", .instant, "when the last one starts"),
            .init("units", .list(.text), "their units"),
        ]
    }

    static var records: [ResultField] {
        [
            .init("types", .list(.text), "the types"),
            .init("by", .text, "what a row stands for: raw, hour, day or month"),
            .init("since", .day, "the first day"),
            .init("until", .day, "the last day"),
            .init("time_zone", .text, "the time zone that days follow"),
            .init("damaged", .integer, "number of months with damaged records, which are left out"),
            .init("rows", .list(.object(recordRow)), "the rows"),
        ]
    }

    static var recordRow: [ResultField] {
        [
            .init("type", .text, "the type"),
            .init(maybe: "start", .instant, "when the record starts; only with raw"),
            .init(maybe: "end", .instant, "when it ends; only with raw"),
            .init(maybe: "source", .text, "its source; only with raw"),
            .init(maybe: "metadata", .map(.text), "its metadata; only with raw"),
            .init(maybe: "hour", .instant, "when the hour starts"),
            .init(maybe: "day", .day, "the day"),
            .init(maybe: "month", .text, "the month, such as 2026-11"),
            .init(maybe: "unit", .text, "the unit of the numbers"),
            .init(
                maybe: "value", .text,
                "the value: as it was written with raw, otherwise the word that the records share"),
            .init(maybe: "count", .integer, "number of records; not with raw"),
            .init(maybe: "min", .number, "the least number"),
            .init(maybe: "mean", .number, "the mean of the numbers"),
            .init(maybe: "max", .number, "the greatest number"),
            .init(maybe: "sum", .number, "the sum of the numbers, of all sources"),
            .init(maybe: "minutes", .number, "how long the records took; not with raw"),
        ]
    }

    static var insight: [ResultField] {
        [
            .init("id", .text, "id of the insight"),
            .init("generated_at", .instant, "when the backend made it"),
            .init(maybe: "confidence_score", .number, "confidence from 0 to 1"),
            .init("narrative", .text, "its text"),
            .init("key_insights", .list(.text), "its key points"),
            .init("recommendations", .list(.text), "its recommendations"),
            .init("key_insights_count", .integer, "number of key points at the backend"),
            .init("recommendations_count", .integer, "number of recommendations at the backend"),
            .init(maybe: "synced_at", .instant, "when it was fetched"),
        ]
    }

    /// The backend decides what else a profile has.
    static var profile: [ResultField] {
        [.init("synced_at", .instant, "when it was fetched; all other fields are the backend's")]
    }

    static var archive: [ResultField] {
        [
            .init("number", .integer, "number of the version"),
            .init("table", .text, "`metrics` or `insights`"),
            .init("type", .text, "the type"),
            .init("id", .text, "id of the entry"),
            .init("version_of", .instant, "time of the entry"),
            .init("archived_at", .instant, "when a newer version replaced it"),
        ]
    }

    static var archiveShow: [ResultField] {
        archive + [.init("content", .any, "the entry as the backend sent it")]
    }

    // MARK: The outbox

    private static func integers(_ fields: KeyValuePairs<String, String>) -> ResultType {
        .object(fields.map { ResultField($0.key, .integer, $0.value) })
    }

    static var outbox: [ResultField] {
        [
            .init("balanced", .boolean, "whether the sums hold"),
            .init(
                "records",
                integers([
                    "read": "records that were read",
                    "queued": "of them queued as samples",
                    "known": "of them known before",
                    "paired": "of them second halves of a blood pressure",
                    "folded": "of them part of days and nights",
                    "repeated": "of them repeated",
                    "unmapped": "of them without a field at the backend, kept here alone",
                    "refused": "of them refused",
                    "before_since": "of them before `since`",
                ]), "what became of the records"),
            .init(
                "days_and_nights",
                integers([
                    "made": "days and nights that were made",
                    "queued": "of them queued",
                    "known": "of them known before",
                    "replaced": "of them in place of unsent ones",
                    "corrected": "of them corrections of sent ones",
                    "refused": "of them refused",
                    "before_since": "of them before `since`",
                ]), "what became of the days and nights"),
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
                    "set_aside": "samples that need a person",
                    "waiting": "samples that wait to be sent",
                ]), "the samples by state"),
            .init("unmapped", .map(.integer), "records without a field, by type"),
            .init("refused", .map(.integer), "refused records by reason"),
            .init("refused_days_and_nights", .map(.integer), "refused days and nights by reason"),
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

    static var outboxSample: [ResultField] {
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

    static var batchNumber: ResultField {
        .init(maybe: "batch", .integer, "number of its batch")
    }

    static var outboxShow: [ResultField] {
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

    // MARK: The login

    static var login: [ResultField] {
        [
            .init("email", .text, "address of the account"),
            .init("user_id", .text, "id of the account"),
            .init("backend", .text, "address of the backend"),
            .init("expires_at", .instant, "when the access token expires"),
        ]
    }

    static var register: [ResultField] {
        [
            .init("email", .text, "address of the new account"),
            .init(
                "needs_verification", .boolean, "whether `auth verify` has to confirm the address"),
        ]
    }

    static var authStatus: [ResultField] {
        login + [
            .init(maybe: "logged_in_at", .instant, "when the login was made"),
            .init(maybe: "renewed_at", .instant, "when the access token was last renewed"),
            .init(
                maybe: "last_refusal",
                .object([
                    .init("at", .instant, "when it was refused"),
                    .init("reason", .text, "why"),
                ]), "the last refusal of a login"),
            .init("logins_left", .integer, "number of logins that are allowed now"),
            .init(maybe: "next_login_at", .instant, "when one more is allowed"),
        ]
    }

    static var logout: [ResultField] {
        [
            .init("logged_out", .boolean, "true"),
            .init(
                maybe: "removed", .map(.integer),
                "number of removed entries by kind; none if data stays"),
        ]
    }

    // MARK: The key and backups

    static var keyRotate: [ResultField] {
        [
            .init("rows", .integer, "number of rows that are sealed with the new key"),
            .init("damaged", .integer, "number of rows that were damaged before"),
            .init(maybe: "resumed_from", .instant, "start of the rotation that was finished"),
            .init(maybe: "put_new_key_into", .text, "where you have to put the new key"),
        ]
    }

    static var keyStatus: [ResultField] {
        [
            .init("place", .text, "where the key is"),
            .init(maybe: "since", .instant, "since when it is in use"),
            .init("changes", .integer, "number of rotations"),
            .init(
                maybe: "rotation",
                .object([
                    .init("begun_at", .instant, "start of the rotation"),
                    .init("under_way", .boolean, "whether a process works on it"),
                    .init("new_rows", .integer, "number of rows with the new key"),
                    .init("former_rows", .integer, "number of rows with the former key"),
                ]), "a rotation that is not finished"),
        ]
    }

    static var backup: [ResultField] {
        [
            .init("name", .text, "name of the backup"),
            .init("path", .text, "its path"),
            .init("made_at", .instant, "when it was made"),
            .init("reason", .text, "why it was made"),
            .init("program", .text, "version of the program that made it"),
            .init(maybe: "key", .text, "name of the master key that opens it"),
            .init("size_bytes", .integer, "size of all files"),
            .init(
                "files",
                .list(
                    .object([
                        .init("name", .text, "name of the file"),
                        .init("version", .integer, "version of its schema"),
                        .init("size_bytes", .integer, "its size"),
                        .init("sha256", .text, "its SHA-256"),
                    ])), "the files"),
        ]
    }

    static var faultyBackup: [ResultField] {
        [
            .init("name", .text, "name of the backup"),
            .init("fault", .text, "why it cannot be used"),
        ]
    }

    static var restore: [ResultField] {
        [
            .init("dry_run", .boolean, "whether nothing was changed"),
            .init("resumed", .boolean, "whether an interrupted restore was finished"),
            .init(
                "restored",
                .list(
                    .object([
                        .init("file", .text, "name of the file"),
                        .init("backup", .text, "name of the backup"),
                        .init("as_of", .instant, "when the backup was made"),
                        .init(maybe: "fault", .text, "what was wrong with the file"),
                    ])), "the restored files"),
            .init(
                "not_restored",
                .list(
                    .object([
                        .init("file", .text, "name of the file"),
                        .init("fault", .text, "what is wrong with it"),
                    ])), "damaged files that no backup has"),
            .init("passed_over", .list(.text), "backups that cannot be used, in words"),
            .init(
                maybe: "pending", .list(.text), "files that an interrupted restore has left to do"),
            .init(maybe: "not_taken", .text, "the backup that was not restored yet"),
            .init(maybe: "aside", .text, "where the former files are"),
            .init(maybe: "keeps_log", .boolean, "whether the audit log continues"),
            .init(maybe: "keeps_session", .boolean, "whether the login stays"),
            .init(
                maybe: "possibly_sent_samples", .integer,
                "number of samples that may have been sent since"),
            .init(maybe: "samples_on_hold", .integer, "number of these that wait for a person"),
        ]
    }
}
