/// The mark by which the sessions of one role know that another one lives.
///
/// It is in the name of the session (`application_name`), which ends with it. Every role may read
/// that name and take it, but no other role can have a session of this one, and only those count. An
/// advisory lock would do worse: any role may take its number, and then nobody else gets it.
public enum SessionMark {
    /// SQL: the marks of all sessions of this session's role in this database.
    public static let living = """
        (SELECT split_part(application_name, ' ', 2) FROM pg_stat_activity
        WHERE usename = current_user AND datname = current_database()
            AND split_part(application_name, ' ', 2) <> '')
        """

    /// Returns the mark that stands for a name.
    public static func of(_ name: String) -> String { String(name.utf8.fnv1a, radix: 36) }

    /// Marks a session in place of what it was marked with.
    ///
    /// - Parameters:
    ///   - kind: what the session is, without a space.
    ///   - mark: without a space, of at most 20 characters.
    ///   - note: for people who list the sessions.
    public static func set(
        _ kind: String, _ mark: String, note: String = "", on connection: Connection
    ) throws(DatabaseError) {
        try connection.run(
            "SELECT set_config('application_name', ?, false)",
            .text("\(kind) \(mark) \(note)"))
    }

    /// Whether a session with a mark lives.
    public static func isLiving(
        _ mark: String, _ connection: Connection
    ) throws(DatabaseError) -> Bool {
        try connection.integer("SELECT CAST(? AS text) IN \(living)", .text(mark)) == 1
    }
}
