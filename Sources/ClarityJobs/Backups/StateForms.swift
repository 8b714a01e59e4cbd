import SQLite

/// The newest schema of each state file that this program knows.
///
/// The module that owns the history knows its schema and passes it in as text.
public struct StateForms: Sendable {
    private let forms: [String: SchemaForm]

    /// Creates them from the text of the history's schema (`SchemaForm`); `nil` if the text is
    /// invalid.
    public init?(history: String) throws(HealthStoreError) {
        guard let history = SchemaForm(history) else { return nil }
        do throws(SQLiteError) {
            forms = ["history.db": history, "health.db": try HealthSchema.migrations.form()]
        } catch {
            throw HealthStore.described(error, ":memory:")
        }
    }

    /// The schema of the file with this name; `nil` if the file is not one of ours.
    subscript(name: String) -> SchemaForm? { forms[name] }
}
