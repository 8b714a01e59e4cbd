public import ClarityScheduler
import Glibc

/// The work of a job of the kind `command`, read from its options.
public struct CommandPlan: Hashable, Sendable {
    /// The program's name or absolute path, and its arguments; not empty.
    public let words: [String]
    /// The absolute path of the folder in which the program starts.
    public let folder: String
    /// The variables that it gets in addition to those of this program.
    public let variables: [String: String]
    /// The maximum number of bytes of its output to keep.
    public let outputLimit: Int

    /// Reads the options of an order.
    ///
    /// - Throws: `Failure` for options that cannot come from a valid job file.
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

    /// Returns the program's path; `nil` if it is not found.
    ///
    /// - Parameter environment: the program's whole environment.
    public func program(in environment: [String: String]) -> String? {
        words.first.flatMap { ProgramSearch.path(of: $0, in: environment["PATH"]) }
    }

    /// Whether the folder exists and is a folder.
    public var hasFolder: Bool {
        var status = stat()
        return stat(folder, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Returns the program's whole environment.
    ///
    /// - Parameters:
    ///   - base: the variables that it gets from this program's environment.
    ///   - startedAt: the time at which the attempt starts.
    public func environment(
        over base: [String: String], _ order: AttemptOrder, startedAt: Instant
    ) -> [String: String] {
        base.merging(variables) { _, own in own }
            .merging(CommandPlan.variables(of: order, startedAt: startedAt)) { _, ours in ours }
    }

    /// Returns the variables that identify the attempt to the program.
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
