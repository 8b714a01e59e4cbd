/// The output that was kept of an attempt's program: all of it, or its beginning and its end.
///
/// The bytes are unchanged: they need not be text, and may contain control sequences for terminals.
public struct AttemptOutput: Hashable, Sendable {
    public var head: [UInt8]
    /// The number of bytes between `head` and `tail` that were not kept; 0 if all were kept.
    public var leftOutBytes: Int64
    public var tail: [UInt8]

    /// Creates an output.
    public init(head: [UInt8], leftOutBytes: Int64 = 0, tail: [UInt8] = []) {
        self.head = head
        self.leftOutBytes = leftOutBytes
        self.tail = tail
    }
}
