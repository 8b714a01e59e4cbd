/// What the program of an attempt wrote, as much of it as is kept: all of it, or its beginning and
/// its end.
///
/// The bytes are as they came: no text need be among them, and what steers a terminal may be.
public struct AttemptOutput: Hashable, Sendable {
    public var head: [UInt8]
    /// How many bytes between `head` and `tail` were not kept; 0 where all was.
    public var leftOutBytes: Int64
    public var tail: [UInt8]

    /// Creates an output.
    public init(head: [UInt8], leftOutBytes: Int64 = 0, tail: [UInt8] = []) {
        self.head = head
        self.leftOutBytes = leftOutBytes
        self.tail = tail
    }
}
