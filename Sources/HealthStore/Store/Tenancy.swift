import Database

/// The time during which a store belongs to one user: from the first login, or from a logout that
/// removed everything, to the next such logout.
///
/// A store has at most one owner within a tenancy (`Sessions.save` ensures it). A process that
/// reads or writes rows in the tenancy that it found when it opened the store therefore does so for
/// that owner. No other user's rows can come in between, and a process that still has removed data
/// in memory cannot write it back.
struct Tenancy: Hashable, Sendable {
    /// The number of the tenancy, from 1.
    let number: Int64

    /// Reads the current tenancy.
    init(_ connection: Connection) throws(DatabaseError) {
        number = try connection.integer("SELECT number FROM tenancy") ?? 1
    }

    /// Checks that this tenancy is still the current one.
    ///
    /// - Parameter allowsVacancy: whether the check also passes after a logout that removed
    ///   everything, before anybody has logged in.
    /// - Throws: `HealthStoreError.changedHands` or `.loggedOut`.
    func check(_ connection: Connection, allowsVacancy: Bool) throws {
        let query = "SELECT number, is_vacant FROM tenancy"
        let found = try connection.first(query) { ($0.integer(0), $0.integer(1) == 1) }
        guard let (current, isVacant) = found, current == number else {
            throw HealthStoreError.changedHands
        }
        if isVacant, !allowsVacancy { throw HealthStoreError.loggedOut }
    }

    /// Records that somebody has logged in.
    static func begin(_ connection: Connection) throws(DatabaseError) {
        try connection.run("UPDATE tenancy SET is_vacant = 0 WHERE is_vacant = 1")
    }

    /// Records that everything of the user was removed.
    static func end(_ connection: Connection) throws(DatabaseError) {
        try connection.run("UPDATE tenancy SET number = number + 1, is_vacant = 1")
    }
}
