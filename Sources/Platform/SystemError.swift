@preconcurrency import Glibc

/// A call that the system refused.
public struct SystemError: Error, Hashable, Sendable {
    /// What failed, to follow "cannot"; empty if whoever reports the error says it.
    public var action: String
    /// The error number, as in `errno`.
    public var code: Int32

    /// Creates the error of the call that has just failed.
    public init(_ action: String = "") { self.init(action, code: errno) }

    public init(_ action: String = "", code: Int32) { (self.action, self.code) = (action, code) }

    /// The system's text in the middle of a sentence: `no such file or directory`.
    public var reason: String { text.lowercased() }

    /// Whether the disk is full or fails.
    public var isDisk: Bool { [ENOSPC, EDQUOT, EIO].contains(code) }

    /// The system's own text: `No such file or directory`.
    public var text: String { String(cString: strerror(code)) }
}

extension SystemError: CustomStringConvertible {
    /// `cannot start /usr/bin/worker: No such file or directory`
    public var description: String { action.isEmpty ? text : "cannot \(action): \(text)" }
}
