package import SQLite

/// The newest schema of each state file that this program knows.
///
/// The module that owns the history knows its schema and passes it in.
public struct StateForms: Sendable {
    private let forms: [String: SchemaForm]

    /// Creates them from the history's schema.
    package init(history: SchemaForm) throws(HealthStoreError) {
        do throws(SQLiteError) {
            forms = ["history.db": history, "health.db": try HealthSchema.migrations.form()]
        } catch {
            throw HealthStore.described(error, ":memory:")
        }
    }

    /// The schema of the file with this name; `nil` if the file is not one of ours.
    subscript(name: String) -> SchemaForm? { forms[name] }
}
