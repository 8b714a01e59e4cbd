import SQLite

/// One user's time with a store: from the first login, or from a logout that removed everything, to
/// the next such logout.
///
/// Within one tenancy a store has at most one owner (`HealthStore.save` sees to it), so that who
/// writes or takes rows in the tenancy that it found at opening does so for that owner: nobody else's
/// rows can get in between, and what was removed does not come back from a process that still has it
/// in memory.
struct Tenancy: Hashable, Sendable {
    /// Counts from 1.
    let number: Int64

    /// The tenancy of now.
    init(_ connection: Connection) throws(SQLiteError) {
        number = try connection.first("SELECT number FROM tenancy") { $0.integer(0) } ?? 1
    }

    /// Makes sure that it is still this one.
    ///
    /// - Parameter allowsVacancy: whether that is also so after a logout that removed everything,
    ///   before anybody has logged in.
    /// - Throws: `HealthStoreError.changedHands` or `.loggedOut`.
    func check(_ connection: Connection, allowsVacancy: Bool) throws {
        let query = "SELECT number, is_vacant FROM tenancy"
        let found = try connection.first(query) { ($0.integer(0), $0.integer(1) == 1) }
        guard let (current, isVacant) = found, current == number else {
            throw HealthStoreError.changedHands
        }
        if isVacant, !allowsVacancy { throw HealthStoreError.loggedOut }
    }

    /// Somebody has logged in.
    static func begin(_ connection: Connection) throws(SQLiteError) {
        try connection.run("UPDATE tenancy SET is_vacant = 0 WHERE is_vacant = 1")
    }

    /// Everything of the user was removed.
    static func end(_ connection: Connection) throws(SQLiteError) {
        try connection.run("UPDATE tenancy SET number = number + 1, is_vacant = 1")
    }
}
