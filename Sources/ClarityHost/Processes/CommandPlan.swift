public import ClarityScheduler
import Glibc

extension JobKindDeclaration {
    /// The kind `command`, for any catalogue: `CommandPlan` reads its options, and `CommandWorker`
    /// runs it.
    public static let command = JobKindDeclaration(
        .command, summary: "runs any program; its exit status decides the outcome",
        options: CommandPlan.declarations, needsSections: false)
}

/// The work of a job of the kind `command`: its options.
public struct CommandPlan: DeclaredOptions, Hashable {
    /// The program's name or absolute path, and its arguments; not empty once options were read.
    public private(set) var words: [String] = []
    /// The absolute path of the folder in which the program starts.
    public private(set) var folder = "/"
    /// The variables that it gets in addition to those of this program.
    public private(set) var variables: [String: String]?
    /// The maximum number of bytes of its output to keep.
    public private(set) var outputLimit: Int64 = 64 << 10

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        let missing = "option `command` names no program"
        fields.add(
            required: "command", .command, &words, ifMissing: missing,
            "program and arguments, one word per entry; no shell is involved")
        if words.first?.isEmpty == true { fields.refuse(missing) }
        fields.add("folder", .path, &folder, "working directory")
        fields.add(
            "environment", .variables, &variables,
            "more environment variables; no secrets")
        fields.add(
            "output_limit", .size((1 << 10)...(16 << 20)), &outputLimit,
            "how much of the output is kept, one half from the beginning and one from "
                + "the end")
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
        base.merging(variables ?? [:]) { _, own in own }
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
}

/// Finds programs as a shell does, but only at places that do not depend on the working directory.
enum ProgramSearch {
    /// The folders to search if the environment names none.
    static let standardFolders = "/usr/local/bin:/usr/bin:/bin"

    /// Returns the path of a program; `nil` if it is not found.
    ///
    /// A name with a slash must be an absolute path, and is returned as it is, whether the program
    /// exists or not. Any other name is searched for in the absolute folders among `folders`, a
    /// list with colons like `PATH`.
    static func path(of name: String, in folders: String?) -> String? {
        guard !name.utf8.contains(UInt8(ascii: "/")) else {
            return name.hasPrefix("/") ? name : nil
        }
        guard !name.isEmpty else { return nil }
        for folder in (folders ?? standardFolders).split(separator: ":") where folder.first == "/" {
            let path = "\(folder)/\(name)"
            var status = stat()
            // A folder may be executable too.
            if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                access(path, X_OK) == 0
            {
                return path
            }
        }
        return nil
    }
}
