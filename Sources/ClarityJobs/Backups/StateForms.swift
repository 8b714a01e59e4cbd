import SQLite

/// The newest schema of each state file that this program knows.
///
/// The history's is known to who keeps it, and comes from there as a text.
public struct StateForms: Sendable {
    private let forms: [String: SchemaForm]

    /// Creates them from that of the history (`SchemaForm`); `nil` for what is no such text.
    public init?(history: String) throws(HealthStoreError) {
        guard let history = SchemaForm(history) else { return nil }
        do throws(SQLiteError) {
            forms = ["history.db": history, "health.db": try HealthSchema.migrations.form()]
        } catch {
            throw HealthStore.described(error, ":memory:")
        }
    }

    /// The form of the file of this name; `nil` for one that is none of ours.
    subscript(name: String) -> SchemaForm? { forms[name] }
}
