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
