public import ClarityScheduler
import Platform
@preconcurrency import Glibc
import Database

/// Facts about a state directory's master key, without the key itself.
public struct KeyStatus: Hashable, Sendable {
    /// A key rotation that is running or was interrupted.
    public struct Rotation: Hashable, Sendable {
        public var begunAt: Instant
        /// Whether a running process performs the rotation.
        public var isUnderWay: Bool
        /// The rows that already use the new key, and those that still use the former one.
        public var newRows: Int64
        public var formerRows: Int64
    }

    /// Where the key comes from, in words.
    public var place: String
    /// When the key came into use; `nil` if that is not known.
    public var since: Instant?
    /// How often the key was rotated in this state directory.
    public var changes: Int64 = 0
    public var rotation: Rotation?

    /// Reads the status without changing anything.
    ///
    /// - Returns: `nil` when there is no health data yet.
    /// - Throws: the errors of opening the store, except those about a running or interrupted
    ///   rotation.
    public static func read(
        stateDirectory: String, environment: [String: String]
    ) throws(HealthStoreError) -> KeyStatus? {
        let file = HealthFile(in: stateDirectory)
        guard file.isKept else { return nil }
        try file.check()
        let source = MasterKeySource(stateDirectory: stateDirectory, environment: environment)
        let found = try HealthStore.describing(file.path) {
            try source.load().flatMap { key in try source.find().map { (key, $0.place) } }
        }
        guard let (key, place) = found else { throw .lostKey(path: file.path) }
        // The status reports an interrupted rotation.
        try OpeningCheck(file, environment).require(key, allowsRotation: true)
        return try HealthStore.describing(file.path) {
            let copy = try FileConnection(path: "")
            try DatabaseCopy(path: file.path, drafts: temporaryFolder(environment))
                .copy(into: copy)
            try HealthSchema.migrations.migrate(copy)
            return try KeyStatus(copy, file, place, wrapsKey: access(source.ownPath, F_OK) == 0)
        }
    }

    private init(
        _ connection: Connection, _ file: HealthFile, _ place: MasterKeySource.Place,
        wrapsKey: Bool
    ) throws {
        self.place =
            place.description
            + (wrapsKey ? ", which wraps the key in `\(MasterKeySource.ownName)`" : "")
        let (changes, last) =
            try connection.first(
                "SELECT count(DISTINCT generation), max(retired_at_ms) FROM former_keys"
            ) {
                ($0.integer(0), $0.optionalInteger(1))
            } ?? (0, nil)
        self.changes = changes
        if let last {
            since = Instant(millisecondsSince1970: last)
        } else if case .file(let path) = place {
            var status = stat()
            if stat(path, &status) == 0 {
                since = Instant(secondsSince1970: Int64(status.st_mtim.tv_sec))
            }
        }
        guard let state = try RotationState(connection) else { return }
        var isUnderWay = false
        do throws(HealthStoreError) {
            _ = try StoreLock.share(of: file, makesFile: false, patience: .zero)
        } catch {
            guard case .rotating = error else { throw error }
            isUnderWay = true
        }
        let names = EncryptedTable.all.map(\.name) + ["audit"]
        let reached = names.firstIndex(of: state.table) ?? 0
        var rotation = Rotation(
            begunAt: state.begunAt, isUnderWay: isUnderWay, newRows: 0, formerRows: 0)
        for (index, name) in names.enumerated() {
            let all = try KeyStatus.count(name, connection, upTo: .max)
            let isDone = index < reached || state.phase == .placing
            let new =
                isDone
                ? all
                : index == reached && !state.table.isEmpty
                    ? try KeyStatus.count(name, connection, upTo: state.row) : 0
            rotation.newRows += new
            rotation.formerRows += all - new
        }
        self.rotation = rotation
    }

    private static func count(
        _ table: String, _ connection: Connection, upTo number: Int64
    ) throws -> Int64 {
        try connection.integer("SELECT count(*) FROM \(table) WHERE rowid <= ?", .integer(number))
            ?? 0
    }
}
