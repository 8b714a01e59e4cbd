import Glibc

/// Why there is no usable master key.
public enum MasterKeyError: Error, Hashable, Sendable {
    /// The key has the wrong length; `got` counts the bytes that were found.
    case length(origin: String, got: Int)
    /// Others can read a file with the key.
    case openToOthers(path: String, mode: UInt32)
    /// A file with the key cannot be read or created.
    case file(path: String, errno: Int32)
    /// A file with the key cannot be trusted.
    case notOurs(path: String, problem: String)
    /// The variable named for the key is empty or not set.
    case noVariable(String)
    /// The name given for the variable is not a possible variable name.
    case faultyVariable(String)
    /// libsodium does not work on this machine.
    case noCryptography
}

extension MasterKeyError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .length(let origin, let got):
            "the master key in \(origin) has \(got) bytes; wanted 32 bytes or 64 hex digits"
        case .openToOthers(let path, let mode):
            "the master key `\(path)` is open to others (mode 0\(String(mode, radix: 8))); "
                + "make it 0600"
        case .file(let path, let code):
            "cannot read or make the master key `\(path)`: \(errnoText(code))"
        case .notOurs(let path, let problem): "cannot use the master key `\(path)`: \(problem)"
        case .noVariable(let name): "the variable `\(name)`, named for the master key, is not set"
        case .faultyVariable: "the variable named for the master key has no name of a variable"
        case .noCryptography: "libsodium does not work on this machine"
        }
    }
}

/// Returns the system's text for an error number.
func errnoText(_ code: Int32) -> String { String(cString: strerror(code)).lowercased() }

/// Returns whether an error number means that the disk is full or fails.
func isDisk(_ code: Int32) -> Bool { [ENOSPC, EDQUOT, EIO].contains(code) }
