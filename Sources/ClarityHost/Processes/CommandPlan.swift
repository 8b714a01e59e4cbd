public import ClarityScheduler
import Glibc

/// What a job of the kind `command` is to do, as its options say.
public struct CommandPlan: Hashable, Sendable {
    /// The program's name or absolute path, and its arguments; not empty.
    public let words: [String]
    /// The folder in which it is started, an absolute path.
    public let folder: String
    /// What it finds in its environment beside that of this program.
    public let variables: [String: String]
    /// How many bytes of its output are kept.
    public let outputLimit: Int

    /// Reads the options of an order.
    ///
    /// - Throws: `Failure` for options that no job file would have handed on.
    public init(_ options: [String: String]) throws(Failure) {
        let words = CommandPlan.list(options["command"])
        guard let program = words.first, !program.isEmpty else {
            throw Failure(.configuration, "option `command` names no program")
        }
        guard let limit = (options["output_limit"] ?? "65536").asCount else {
            throw Failure(.configuration, "option `output_limit` is not a number of bytes")
        }
        var variables: [String: String] = [:]
        for entry in CommandPlan.list(options["environment"]) {
            guard let equals = entry.utf8.firstIndex(of: UInt8(ascii: "=")) else {
                throw Failure(.configuration, "option `environment` has an entry without `=`")
            }
            variables[String(entry[..<equals])] = String(entry[entry.utf8.index(after: equals)...])
        }
        self.words = words
        folder = options["folder"] ?? "/"
        self.variables = variables
        outputLimit = limit
    }

    /// The program's path; `nil` where it is not found.
    ///
    /// - Parameter environment: all that the program will find in its environment.
    public func program(in environment: [String: String]) -> String? {
        words.first.flatMap { ProgramSearch.path(of: $0, in: environment["PATH"]) }
    }

    /// Whether the folder is one.
    public var hasFolder: Bool {
        var status = stat()
        return stat(folder, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// All that the program finds in its environment.
    ///
    /// - Parameters:
    ///   - base: what it gets of this program's own.
    ///   - startedAt: when the attempt starts.
    public func environment(
        over base: [String: String], _ order: AttemptOrder, startedAt: Instant
    ) -> [String: String] {
        base.merging(variables) { _, own in own }
            .merging(CommandPlan.variables(of: order, startedAt: startedAt)) { _, ours in ours }
    }

    /// What tells the program which attempt it is.
    private static func variables(
        of order: AttemptOrder, startedAt: Instant
    ) -> [String: String] {
        [
            "CLARITY_JOB": order.job.rawValue, "CLARITY_RUN": "\(order.run)",
            "CLARITY_ATTEMPT": "\(order.attempt)", "CLARITY_GENERATION": "\(order.generation)",
            "CLARITY_SCHEDULED_FOR": "\(order.scheduledFor)",
            "CLARITY_DEADLINE": "\(startedAt + order.timeout)",
        ]
    }

    private static func list(_ text: String?) -> [String] {
        guard let text, !text.isEmpty else { return [] }
        return text.split(separator: "\u{0}", omittingEmptySubsequences: false).map(String.init)
    }
}

extension String {
    fileprivate var asCount: Int? { Int(self).flatMap { (1...(16 << 20)).contains($0) ? $0 : nil } }
}
