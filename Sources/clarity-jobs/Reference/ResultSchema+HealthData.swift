import Reports
import HealthStore

// The results of the commands that read the health data.

extension ResultSchema {
    static var summaryItem: [Field] {
        [
            .init("name", .text, "name of the measure"),
            .init(maybe: "value", .number, "the value"),
            .init("unit", .text, "its unit"),
            .init(maybe: "day", .day, "the day of the value"),
            .init(maybe: "as_of", .instant, "when the value was fetched or read"),
            .init("state", .text, "`fresh`, `stale` or `missing`"),
        ]
    }

    static var summary: [Field] {
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
    static var summaryLine: [Field] {
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

    static var stocks: [Field] {
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

    static var metricsDay: [Field] {
        [
            .init("day", .day, "the day"),
            .init("count", .integer, "number of values"),
            .init(maybe: "min", .number, "least value, where a day has a mean"),
            .init(maybe: "mean", .number, "mean of the values"),
            .init(maybe: "max", .number, "greatest value, where a day has a mean"),
            .init(maybe: "total", .number, "sum, where a day has a sum"),
        ]
    }

    static var measure: [Field] {
        [.init("measure", .text, "the measure"), .init("unit", .text, "its unit")]
    }

    static var metrics: [Field] {
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

    static var metricsLine: [Field] { measure + metricsDay }

    static var recordTypes: [Field] {
        [
            .init("type", .text, "the type, as its source names it"),
            .init("records", .integer, "number of records"),
            .init("first_at", .instant, "when the first one starts"),
            .init("last_at", .instant, "when the last one starts"),
            .init("units", .list(.text), "their units"),
        ]
    }

    static var records: [Field] {
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

    static var recordRow: [Field] {
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

    static var insight: [Field] {
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

    static var analysis: [Field] {
        [
            .init("number", .integer, "number of the analysis"),
            .init("first_day", .day, "first day of the week"),
            .init("last_day", .day, "last day of the week"),
            .init("form", .text, "what was sent: \(AnalysisForm.listed)"),
            .init("state", .text, AnalysisState.listed),
            .init("known_minutes", .integer, "number of minutes of the week that are known"),
            .init("made_at", .instant, "when it was queued"),
            .init(maybe: "accepted_at", .instant, "when the backend accepted it"),
            .init(maybe: "finished_at", .instant, "when it ended"),
            .init(maybe: "reason", .text, "why it ended without a result"),
            .init(maybe: "insight", .text, "id of the insight about it"),
            .init("numbers", .map(.number), "the numbers of the result by name"),
            .init("embedding", .list(.number), "the movement as a point in the model's space"),
            .init(
                maybe: "answer", .any,
                "the backend's whole answer; only with a number, and if it was stored"),
        ]
    }

    /// The backend decides what else a profile has.
    static var profile: [Field] {
        [.init("synced_at", .instant, "when it was fetched; all other fields are the backend's")]
    }

    static var archive: [Field] {
        [
            .init("number", .integer, "number of the version"),
            .init("table", .text, "`metrics` or `insights`"),
            .init("type", .text, "the type"),
            .init("id", .text, "id of the entry"),
            .init("version_of", .instant, "time of the entry"),
            .init("archived_at", .instant, "when a newer version replaced it"),
        ]
    }

    static var archiveShow: [Field] {
        archive + [.init("content", .any, "the entry as the backend sent it")]
    }
}
