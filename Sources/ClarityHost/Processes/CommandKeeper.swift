import ClarityScheduler
import Platform
import Glibc

/// Starts commands under `clarity-jobs-keeper`, which ends them when this process is gone.
///
/// Without a keeper, a command outlives a scheduler that is killed, and is started again beside
/// itself.
public struct CommandKeeper: Sendable {
    private let program: String
    private let proof: AttemptProof

    /// Creates a keeper.
    ///
    /// - Parameters:
    ///   - program: the path of `clarity-jobs-keeper`.
    ///   - proof: what a keeper holds until its command has ended.
    public init(_ program: String, _ proof: AttemptProof) {
        (self.program, self.proof) = (program, proof)
    }

    /// What to send to the keeper so that it starts the command, once its limits are set.
    static let go: [UInt8] = Array("\n".utf8)

    /// How much later than the scheduler the keeper itself ends a command whose time is over.
    private static let margin = Duration.seconds(10)

    /// Starts a command's keeper, whose descriptors 0 to 2 are set up, and returns its process.
    ///
    /// - Parameter reads: a pipe whose end tells the keeper that this process is gone.
    func start(
        _ words: [String], _ environment: [String: String], _ order: AttemptOrder,
        reads: borrowing Descriptor, _ start: consuming ProcessStart
    ) throws(SystemError) -> pid_t {
        let limit = order.timeout + order.warning + CommandKeeper.margin
        let words = [program, "\(order.warning.milliseconds)", "\(limit.milliseconds)"] + words
        let lock = try proof.take(order).raised(to: ProcessStart.firstFree)
        try start.give(lock.number, as: 3)
        try start.give(reads.number, as: 4)
        guard let session = proof.session else {
            try start.closeAll(from: 5)
            return try start.run(words, environment)
        }
        let span = try Descriptor.duplicate(session.span, from: ProcessStart.firstFree)
        let socket = try Descriptor.duplicate(session.socket, from: ProcessStart.firstFree)
        try start.give(span.number, as: 5)
        try start.give(socket.number, as: 6)
        try start.closeAll(from: 7)
        return try start.run(words, environment)
    }
}
