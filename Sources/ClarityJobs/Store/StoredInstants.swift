import ClarityScheduler
import SQLite

// Instants as they are stored: milliseconds since 1970.

extension Value {
    static func instant(_ instant: Instant) -> Value { .integer(instant.millisecondsSince1970) }

    /// The instant, or NULL.
    static func instant(_ instant: Instant?) -> Value {
        .integer(instant?.millisecondsSince1970)
    }
}

extension Row {
    func instant(_ column: Int32) -> Instant {
        Instant(millisecondsSince1970: integer(column))
    }

    func instant(_ column: some RowColumn) -> Instant { instant(column.rawValue) }

    /// The column as an instant; `nil` for NULL.
    func optionalInstant(_ column: Int32) -> Instant? {
        optionalInteger(column).map { Instant(millisecondsSince1970: $0) }
    }

    func optionalInstant(_ column: some RowColumn) -> Instant? {
        optionalInstant(column.rawValue)
    }
}
