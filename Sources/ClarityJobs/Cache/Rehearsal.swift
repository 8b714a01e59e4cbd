internal import SQLite

// A store to rehearse with: it starts as the real one is and vanishes with its last reference.

extension HealthStore {
    /// A private copy of a state directory's store, or an empty one where there is none.
    ///
    /// Nothing in the state directory changes, appears or vanishes, the files beside the database
    /// included. Without a store and a key the copy has a key of its own.
    ///
    /// - Throws: as opening the store would.
    public static func rehearsal(
        of stateDirectory: String, environment: [String: String]
    ) throws(HealthStoreError) -> HealthStore {
        let directory = StateDirectory(path: stateDirectory)
        let key = try HealthStore.key(of: directory, environment) {
            _ throws(MasterKeyError) in try .random()
        }
        let hasHealth = directory.hasHealth
        return try HealthStore(path: directory.healthPath, key: key) {
            () throws(SQLiteError) in
            let copy = try Connection(path: "")
            if hasHealth { try DatabaseCopy(of: directory.healthPath).copy(into: copy) }
            return copy
        }
    }
}
