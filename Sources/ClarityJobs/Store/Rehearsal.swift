public import ClarityScheduler
public import ClaritySystem
import SQLite

// A store for rehearsals: it starts as a copy of the real one and vanishes with its last reference.

extension HealthStore {
    /// Opens a private copy of a state directory's store, or an empty store if there is none.
    ///
    /// Nothing in the state directory changes, appears or vanishes, including the files beside the
    /// database. If there is neither a store nor a key, the copy gets a key of its own.
    ///
    /// - Parameter environment: as for opening the store. `TMPDIR`, or `/tmp` by default, is where
    ///   files may lie for a moment, in a folder of mode 0700 and still encrypted.
    /// - Throws: what opening the store throws.
    public static func rehearsal(
        of stateDirectory: String, environment: [String: String],
        clock: any WallClock = SystemClock()
    ) throws(HealthStoreError) -> HealthStore {
        let file = HealthFile(in: stateDirectory)
        try file.check()
        // Held until the copy is made, so that nobody changes the key in the meantime.
        let lock = try StoreLock.share(of: file, makesFile: false)
        defer { withExtendedLifetime(lock) {} }
        let key = try HealthStore.key(of: file, environment) {
            _ throws(MasterKeyError) in try .random()
        }
        let isThere = file.exists
        return try HealthStore(path: file.path, key: key, actor: AuditActor(), clock: clock) {
            let copy = try Connection(path: "")
            if isThere {
                let drafts = temporaryFolder(environment)
                try DatabaseCopy(of: file.path, draftsIn: drafts).copy(into: copy)
            }
            return copy
        }
    }
}
