import Platform
public import ClarityScheduler
@preconcurrency import Glibc
import Database

/// The keys of a rotation, and the files with them.
///
/// An account's own key is in a file that a given key wraps (`WrappedKey`). A rotation replaces
/// that key by a new random one, and wraps the new one with the new given key, or with the same. An
/// account of before, whose key was derived from the given one, gets a key of its own.
struct RotationKeys {
    let file: HealthFile
    let source: MasterKeySource
    let newKey: NewKey

    /// Whether the new key is in a file beside the former one until it replaces that.
    var isNewInFile: Bool { newKey == .made || isWrapped }

    /// Whether the key is an account's own, or will be.
    private var isWrapped: Bool {
        source.wraps || access(source.ownPath, F_OK) == 0
            || access("\(source.ownPath)\(KeyFile.nextSuffix)", F_OK) == 0
    }

    private var path: String { isWrapped ? source.ownPath : source.path }
    private var nextPath: String { "\(path)\(KeyFile.nextSuffix)" }

    /// Returns the present key.
    ///
    /// At the very end of an interrupted rotation the former key may already be gone; the present
    /// key is then the given one.
    func present() throws(HealthStoreError) -> (key: MasterKey, place: MasterKeySource.Place?) {
        try HealthStore.describing(file.path) {
            guard let found = try source.find() else {
                guard newKey != .made else { throw lostKey }
                return (try given(), nil)
            }
            guard let own = try WrappedKey(at: source.ownPath) else { return found }
            return (try opened(own, at: source.ownPath), found.place)
        }
    }

    /// Returns the new key of a rotation that begins now, once it is durably on disk.
    func fresh(instead present: MasterKey, in place: MasterKeySource.Place?) throws -> MasterKey {
        if isWrapped { return try freshOwn() }
        if newKey == .made {
            guard case .file = place else {
                throw fault(.keyIsElsewhere(place?.description ?? ""))
            }
            let key = try MasterKey.random()
            // An existing file was made by a call that ended before its rotation began.
            if try KeyFile.make(nextPath, key.bytes) { return key }
            return try made()
        }
        let key = try given()
        guard key.bytes != present.bytes else { throw fault(.sameKey) }
        return key
    }

    private func freshOwn() throws -> MasterKey {
        guard let found = try source.find() else { throw lostKey }
        let wrapping = newKey == .made ? found.key : try given()
        guard newKey == .made || wrapping.bytes != found.key.bytes else { throw fault(.sameKey) }
        // A call that ended before its rotation began may have left one, for another given key.
        try KeyFile.remove(nextPath)
        let key = try MasterKey.random()
        _ = try KeyFile.make(nextPath, WrappedKey(key, by: wrapping).bytes)
        return key
    }

    /// Returns the new key of an interrupted rotation.
    func resumed(_ state: RotationState, present: MasterKey) throws -> MasterKey {
        let key: MasterKey
        switch (newKey, state.isNewInFile) {
        case (_, true) where isWrapped:
            // It may already be in place.
            key =
                try WrappedKey(at: nextPath).map { try opened($0, at: nextPath) }
                ?? (state.phase == .placing ? present : made())
        case (.made, true) where state.phase == .placing:
            key = try KeyFile.read(nextPath, as: .own) ?? present
        case (.made, false): throw fault(.newKeyNeeded)
        default: key = try given()
        }
        guard try Cipher(key).opened(state.proof, for: RotationState.proofRow) != nil else {
            throw fault(.otherNewKey)
        }
        return key
    }

    /// Opens an account's own key with the given key that is in force, or with the new one.
    private func opened(_ own: WrappedKey, at path: String) throws -> MasterKey {
        var wrapping = try source.find().map { [$0.key] } ?? []
        if let new = try newKey.given(source.environment) { wrapping.append(new) }
        for key in wrapping.dropLast() {
            do throws(MasterKeyError) {
                return try own.opened(by: key, at: path)
            } catch {
                // The last key decides.
            }
        }
        guard let last = wrapping.last else { throw lostKey }
        return try own.opened(by: last, at: path)
    }

    private func made() throws -> MasterKey {
        guard !isWrapped, let key = try KeyFile.read(nextPath, as: .own) else {
            throw fault(.newKeyLost(nextPath))
        }
        return key
    }

    func given() throws -> MasterKey {
        if let key = try newKey.given(source.environment) { return key }
        guard case .file(let path) = newKey else { return try made() }
        throw fault(.noNewKey("`\(path)`"))
    }

    private var lostKey: HealthStoreError { .lostKey(path: file.path) }

    private func fault(_ error: KeyRotationError) -> HealthStoreError {
        .rotation(error, path: file.path)
    }

    /// Moves a key that clarity-jobs made to the former key's place, or removes the former key file
    /// if the new key is elsewhere.
    func putInPlace(_ state: RotationState, _ next: MasterKey) throws {
        if state.isNewInFile {
            if access(nextPath, F_OK) == 0 { try KeyFile.replace(path, by: nextPath) }
        } else if state.wasFormerInFile, let former = try KeyFile.read(source.path, as: .own),
            former.bytes != next.bytes
        {
            try KeyFile.remove(source.path)
        }
        // A draft may hold the former key. A draft of the new key would hold a former key after the
        // next rotation.
        for path in [path, nextPath] { try KeyFile.removeDrafts(of: path) }
    }

    /// Returns the place into which the user must put the new given key; `nil` if it is there
    /// already, or the given key stays.
    func placeToFill(_ place: MasterKeySource.Place?) throws -> String? {
        guard newKey != .made else { return nil }
        switch place {
        case .some where try source.find()?.key.bytes == newKey.given(source.environment)?.bytes:
            return nil
        case nil, .file: return "a credential or a variable"
        case .some(let place): return place.description
        }
    }
}

extension NewKey {
    private static let derived = "CLARITY_JOBS_NEW_KEY"

    /// Returns the new key as an account gets it, and the account's environment with it: where the
    /// account's key is derived from a given one, so is the new one.
    ///
    /// - Throws: `MasterKeyError` if there is no such key.
    public func derived(
        for account: AccountID, in environment: [String: String]
    ) throws(MasterKeyError) -> (key: NewKey, environment: [String: String]) {
        guard environment[MasterKeySource.wrapsName] != nil,
            environment[MasterKeySource.pointer] == nil, let given = try given(environment)
        else { return (self, environment) }
        var own = environment
        own[NewKey.derived] = hexEncoded(try given.key(of: account).bytes)
        return (.variable(NewKey.derived), own)
    }

    /// Returns the key that a person gives; `nil` if there is no such file, or for a key that
    /// clarity-jobs makes.
    func given(_ environment: [String: String]) throws(MasterKeyError) -> MasterKey? {
        switch self {
        case .made: return nil
        case .file(let path): return try KeyFile.read(path, as: .credential)
        case .variable(let name):
            let hex = try MasterKeySource.value(of: name, environment)
            return try MasterKey(content: Array(hex.utf8), origin: "`\(name)`")
        }
    }
}

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
        if let (server, account) = try ServerAccount.named(in: environment) {
            return try onServer(server, account, stateDirectory, environment)
        }
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
            let ownKey = access(source.ownPath, F_OK) == 0 ? "`\(MasterKeySource.ownName)`" : nil
            var status = try KeyStatus(copy, place, ownKey: ownKey)
            status.rotation = try Rotation(copy, file)
            return status
        }
    }

    private static func onServer(
        _ server: ServerAddress, _ account: String, _ stateDirectory: String,
        _ environment: [String: String]
    ) throws(HealthStoreError) -> KeyStatus? {
        let source = MasterKeySource(stateDirectory: stateDirectory, environment: environment)
        let (place, key) = try HealthStore.place(
            of: account, at: server, stateDirectory, environment)
        do {
            let connection = try place.connect()
            try ServerHealthSchema.schema.requireVersion(connection)
            let own = try place.ownKey(key, connection)
            switch KeyCheck.state(connection, try Cipher(own ?? key)) {
            case .none: return nil
            case .otherwise: throw HealthStoreError.wrongKey(path: place.name)
            case .sound, .damaged: break
            }
            guard let found = try source.find() else { return nil }
            return try KeyStatus(
                connection, found.place, ownKey: own == nil ? nil : "the database")
        } catch {
            throw place.explained(HealthStore.described(error, place.name))
        }
    }

    /// - Parameter ownKey: where the account's own key is, in words, if it has one.
    private init(
        _ connection: Connection, _ place: MasterKeySource.Place, ownKey: String?
    ) throws {
        self.place = place.description + (ownKey.map { ", which wraps the key in \($0)" } ?? "")
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
    }
}

extension KeyStatus.Rotation {
    /// Reads how far a rotation of a file has come; `nil` if there is none.
    fileprivate init?(_ connection: Connection, _ file: HealthFile) throws {
        guard let state = try RotationState(connection) else { return nil }
        var isUnderWay = false
        do throws(HealthStoreError) {
            _ = try StoreLock.share(of: file, makesFile: false, patience: .zero)
        } catch {
            guard case .rotating = error else { throw error }
            isUnderWay = true
        }
        let names = EncryptedTable.all.map(\.name) + ["audit"]
        let reached = names.firstIndex(of: state.table) ?? 0
        self.init(begunAt: state.begunAt, isUnderWay: isUnderWay, newRows: 0, formerRows: 0)
        for (index, name) in names.enumerated() {
            let all = try Self.count(name, connection, upTo: .max)
            let isDone = index < reached || state.phase == .placing
            let new =
                isDone
                ? all
                : index == reached && !state.table.isEmpty
                    ? try Self.count(name, connection, upTo: state.row) : 0
            newRows += new
            formerRows += all - new
        }
    }

    private static func count(
        _ table: String, _ connection: Connection, upTo number: Int64
    ) throws -> Int64 {
        try connection.integer("SELECT count(*) FROM \(table) WHERE rowid <= ?", .integer(number))
            ?? 0
    }
}
