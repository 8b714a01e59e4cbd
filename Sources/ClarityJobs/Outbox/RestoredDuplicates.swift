import SQLite

/// Marks samples that are read for the first time after a restore as possibly sent.
///
/// A sample that was measured before the restore may have been sent between the backup and the
/// restore. This matters only if the backend does not deduplicate. The instant is read once per
/// portion, so a store that was never restored has no cost per sample.
struct RestoredDuplicates {
    /// The instant before which a sample is possibly sent, in seconds since 1970; `nil` for none.
    private let until: Int64?

    init(_ connection: Connection) throws(SQLiteError) {
        until =
            try connection.first(
                "SELECT max(until_s) FROM restorations WHERE is_doubtful = 1"
            ) { $0.optionalInteger(0) } ?? nil
    }

    /// The column to add at the end of an INSERT; empty if nothing is to be marked.
    var column: String { until == nil ? "" : ", doubts" }
    /// The value of that column; parameter 3 of the statement must be the end of the sample.
    var value: String { until.map { ", ?3 < \($0)" } ?? "" }
}
