extension DatabaseError {
    /// Creates the error of a code of PostgreSQL (its documentation, appendix A).
    ///
    /// Messages of class 22 hold the value that does not fit; they are replaced.
    ///
    /// - Parameter isPooled: whether a connection pool is between this side and the server.
    init(
        sqlState: String, message: String, statement: String? = nil, isPooled: Bool = false
    ) {
        // A prepared statement that is there already, or is not: somebody else's session. Such a one
        // also has another `search_path`, and a pool may refuse a transaction.
        let isShared =
            ["42P05", "26000"].contains(sqlState)
            || isPooled && ["42P01", "42883", "08P01"].contains(sqlState)
        let message =
            switch sqlState {
            case let code where code.hasPrefix("22"): "a value does not fit its column"
            case _ where isShared:
                message + "; a connection pool in between has to give each client a session of its "
                    + "own (`pool_mode = session` in pgbouncer)"
            case "25006":
                "the server takes no writes: `default_transaction_read_only` is on, or it is a "
                    + "standby"
            case "53300":
                message + "; a loop needs 3 and each attempt up to 2: raise `max_connections`, or "
                    + "the `CONNECTION LIMIT` of the role or the database"
            default: message
            }
        self.init(
            kind: Kind(sqlState: sqlState), message: message, code: "PostgreSQL \(sqlState)",
            statement: statement)
    }

    /// Creates the error of a server that cannot be reached or has gone away.
    static func gone(_ message: String) -> DatabaseError {
        DatabaseError(kind: .gone, message: message, code: "PostgreSQL 08006")
    }
}

extension DatabaseError.Kind {
    fileprivate init(sqlState: String) {
        self =
            switch sqlState {
            // Somebody else's lock or transaction was in the way.
            case "55P03", "40001", "40P01": .busy
            // A full disk, or one that fails.
            case "53100", "58030": .disk
            // Damaged pages and indices, and a schema without a name that a statement has.
            case "XX001", "XX002", "42P01", "42703", "42883", "3F000": .damage
            case "42501", "3D000": .access
            // A standby, or one that was promoted away.
            case "25006", "57P01", "57P02", "57P03", "57P05", "25P03", "53300": .gone
            case let code where code.hasPrefix("23"): .constraint
            case let code where code.hasPrefix("28"): .access
            case let code where code.hasPrefix("08"): .gone
            default: .other
            }
    }
}
