public import ClarityScheduler
public import Platform
public import Database

/// The reason why health data cannot be read or stored.
public enum HealthStoreError: Error, Sendable {
    /// There is no usable master key.
    case key(MasterKeyError)
    /// The file exists but its key does not: nothing in it can be read.
    case lostKey(path: String)
    /// The variable that names a server has something else.
    case server(String)
    /// The file was encrypted with another key.
    case wrongKey(path: String)
    /// A server's data was encrypted with another key than this machine has.
    case keyReplaced(path: String)
    /// A value cannot be decrypted.
    case encryption(EncryptionError, path: String)
    /// The file belongs to another program or to another version.
    case schema(Migrations.Fault, path: String)
    /// The state directory cannot be used.
    case directory(StateDirectoryError)
    /// A file in the state directory cannot be trusted.
    case foreignFile(path: String, problem: String)
    /// Another process is changing the master key.
    case rotating(path: String)
    /// A change of the master key was cut short, and no process is finishing it.
    case rotationUnfinished(path: String)
    /// The master key cannot be changed.
    case rotation(KeyRotationError, path: String)
    /// The file belongs to another user of the backend.
    case otherUser(path: String)
    /// A logout removed everything, and nobody has logged in since.
    case loggedOut
    /// A logout removed everything after this store was opened.
    case changedHands
    /// SQLite reported an error.
    case database(DatabaseError, path: String)
    /// The file is not a database or is damaged; carries advice for a person.
    case damaged(DatabaseError, path: String, advice: String)
    /// A backup cannot be made, so the operation that needs it was not done.
    case backup(BackupError, path: String)
    /// A wipe could not remove the backups in the state directory.
    case copies(BackupError)

    /// The error as a worker's failure.
    public var failure: Failure {
        let category: Failure.Category =
            switch self {
            case .key(.file(_, let code)): SystemError(code: code).isDisk ? .disk : .configuration
            case .server, .key, .lostKey, .wrongKey, .keyReplaced, .schema, .otherUser,
                .foreignFile,
                .rotationUnfinished:
                .configuration
            case .rotating: .unreachable
            case .rotation(let error, _): error.isTemporary ? .unreachable : .configuration
            // A new login replaces what is damaged.
            case .encryption(let error, _) where error.isOfLogin: .credential
            case .loggedOut, .changedHands: .credential
            // The same fault makes the history in this directory unreachable, so the category is
            // the same.
            case .directory(let error): error.isDisk ? .disk : .unreachable
            case .encryption, .damaged: .disk
            case .backup(let error, _), .copies(let error): error.isDisk ? .disk : .unreachable
            case .database(let error, _):
                if error.isBusy || error.isAccess || error.isGone {
                    .unreachable
                } else if error.isDisk {
                    .disk
                } else {
                    .internalFault
                }
            }
        return Failure(category, description)
    }

    /// Whether another key may open the data. A server does not tell a password that follows from
    /// another key from a role that is missing.
    var isOfOtherKey: Bool {
        switch self {
        case .wrongKey, .keyReplaced, .key(.wrapped): true
        case .database(let error, _): error.isAccess
        default: false
        }
    }

    var isUnfinishedRotation: Bool {
        if case .rotationUnfinished = self { true } else { false }
    }

    /// Whether the same call may succeed a little later, because another process holds the file.
    public var isBusy: Bool {
        switch self {
        case .database(let error, _): error.isBusy
        case .rotating: true
        case .rotation(let error, _): error.isTemporary
        default: false
        }
    }
}

extension HealthStoreError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .key(let error): error.description
        case .lostKey(let path):
            "there is no master key for `\(path)`; restore `keys/master.key` beside it, or set "
                + "`CLARITY_JOBS_KEY`"
        case .server(let problem): problem
        case .foreignFile(let path, let problem): "cannot use `\(path)`: \(problem)"
        case .rotating(let path):
            "the master key of `\(path)` is being changed; try again when that has ended"
        case .rotationUnfinished(let path):
            "a change of the master key of `\(path)` was cut short; finish it with "
                + "`clarity-jobs key rotate`"
        case .rotation(let error, let path): error.description(path)
        case .wrongKey(let path): "`\(path)` was encrypted with another master key"
        case .keyReplaced(let path):
            "`\(path)` has another master key than this machine; if `clarity-jobs key rotate` has "
                + "changed it, copy the new key to this machine"
        case .encryption(let error, _) where error.isOfLogin:
            "the login that was kept is damaged; run `clarity-jobs auth login`"
        case .encryption(let error, let path): "`\(path)`: \(error)"
        case .schema(.foreign, let path): "`\(path)` is not a health database of this program"
        case .schema(.newer(let found, let known), let path):
            "`\(path)` has version \(found), this program knows \(known); use a newer clarity-jobs"
        case .schema(.older, let path): "`\(path)` \(Migrations.Fault.olderText)"
        case .directory(let error): error.description
        case .otherUser(let path):
            "`\(path)` belongs to another user; give this one a state directory of its own"
        case .loggedOut: "nobody is logged in; run `clarity-jobs auth login`"
        case .changedHands: "a logout has removed everything since this began"
        case .database(let error, let path): "cannot use `\(path)`: \(error)"
        case .copies(let error): "the data is removed, but not its backups: \(error)"
        case .damaged(let error, let path, let advice):
            "cannot use `\(path)`: \(error); \(advice)"
        case .backup(let error, let path): "cannot bring `\(path)` up to date: \(error)"
        }
    }
}

/// The reason why the master key cannot be changed.
public enum KeyRotationError: Error, Hashable, Sendable {
    /// There is no health data yet, so there is no key to change.
    case nothingKept
    /// Other processes use the health data.
    case inUse
    /// Another process reads the file, so its log could not be cleared of what the former key
    /// decrypts.
    case logInUse
    /// The key is in a place to which this program does not write; carries the place in words.
    case keyIsElsewhere(String)
    /// There is no key in the place named for the new key; carries the place in words.
    case noNewKey(String)
    /// The new key is the current one.
    case sameKey
    /// The change that was cut short has a different new key from the one given now.
    case otherNewKey
    /// The change that was cut short was given its new key, and none is given now.
    case newKeyNeeded
    /// The change that was cut short made its new key, which is missing; carries the file.
    case newKeyLost(String)

    /// The change that was cut short still needs the former key, which is missing.
    case formerKeyNeeded

    /// Whether the same call may succeed a little later.
    var isTemporary: Bool { self == .inUse || self == .logInUse }

    func description(_ path: String) -> String {
        switch self {
        case .nothingKept: "there is no `\(path)` yet, so there is no master key to change"
        case .inUse:
            "`\(path)` is in use by other processes; try again when they have ended, or stop the "
                + "loop meanwhile"
        case .logInUse:
            "`\(path)` is being read by another process; run `clarity-jobs key rotate` again to "
                + "finish"
        case .keyIsElsewhere(let place):
            "the master key is in \(place), where this program does not write; make a new one and "
                + "name it with --new-key-file or --new-key-variable"
        case .noNewKey(let place): "there is no new master key in \(place)"
        case .sameKey: "the new master key is the present one"
        case .otherNewKey:
            "a change of the master key of `\(path)` was cut short, and its new key was another "
                + "one than is given now"
        case .newKeyNeeded:
            "a change of the master key of `\(path)` was cut short; name its new key again with "
                + "--new-key-file or --new-key-variable"
        case .formerKeyNeeded:
            "a change of the master key of `\(path)` was cut short, and the former key is needed "
                + "once more; put it back until `clarity-jobs key rotate` has ended"
        case .newKeyLost(let file):
            "a change of the master key of `\(path)` was cut short, and its new key `\(file)` is "
                + "gone; restore that file"
        }
    }
}
