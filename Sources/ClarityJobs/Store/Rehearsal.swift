public import ClarityScheduler
public import ClaritySystem
import SQLite

// A store to rehearse with: it starts as the real one is and vanishes with its last reference.

extension HealthStore {
    /// A private copy of a state directory's store, or an empty one where there is none.
    ///
    /// Nothing in the state directory changes, appears or vanishes, the files beside the database
    /// included. Without a store and a key the copy has a key of its own.
    ///
    /// - Parameter environment: as for opening the store; `TMPDIR` says where files may lie for a
    ///   moment, in a folder of mode 0700 and as sealed as they are, else `/tmp`.
    /// - Throws: as opening the store would.
    public static func rehearsal(
        of stateDirectory: String, environment: [String: String],
        clock: any WallClock = SystemClock()
    ) throws(HealthStoreError) -> HealthStore {
        let file = HealthFile(in: stateDirectory)
        try file.check()
        // Until the copy is made: nobody changes the key meanwhile.
        let lock = try StoreLock.share(of: file, makesFile: false)
        defer { withExtendedLifetime(lock) {} }
        let key = try HealthStore.key(of: file, environment) {
            _ throws(MasterKeyError) in try .random()
        }
        let isThere = file.exists
        return try HealthStore(path: file.path, key: key, actor: AuditActor(), clock: clock) {
            () throws(SQLiteError) in
            let copy = try Connection(path: "")
            if isThere {
                let drafts = temporaryFolder(environment)
                try DatabaseCopy(of: file.path, draftsIn: drafts).copy(into: copy)
            }
            return copy
        }
    }
}
