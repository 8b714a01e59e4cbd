/// One thing that is wrong in a job file, or a setting in it that can never take effect.
public struct JobFileFault: Error, Hashable, Sendable {
    /// The line, from 1; 0 for a fault of the file as a whole.
    public var line: Int
    /// The column in characters, from 1; 0 for a fault of the file as a whole.
    public var column: Int
    /// A lowercase fragment without final period; values from the file are in `backticks`,
    /// shortened and free of control characters.
    public var message: String
    /// What to do about it, where that is certain or where the possible answers are few.
    public var help: String?
    /// The path of the key or value that it is about, such as `jobs[2].schedule.cron`; `nil` where it
    /// is about the file as a whole, or no tree can be read from it.
    public internal(set) var path: String?
    /// The position of that key or value in the tree.
    var place: YAMLNode.Position?

    /// Creates a fault.
    public init(line: Int, column: Int, message: String, help: String? = nil) {
        self.line = line
        self.column = column
        self.message = message
        self.help = help
    }

    init(_ position: YAMLNode.Position, _ message: String, help: String? = nil) {
        self.init(line: position.line, column: position.column, message: message, help: help)
        place = position
    }

    /// The fault as people read it: `jobs.yaml:12:9: unknown key ...`, with `help: ...` on a line
    /// of its own.
    ///
    /// - Parameter path: the file's.
    public func text(path: String, isWarning: Bool = false) -> String {
        let place = line == 0 ? "\(path): " : "\(path):\(line):\(column): "
        let message = (isWarning ? "warning: " : "") + message
        return place + message + (help.map { "\nhelp: \($0)" } ?? "")
    }
}

/// Everything that is wrong in a job file, by position.
public struct JobFileFaults: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file's path as it was given.
    public let path: String
    /// At least one fault, by rising line and column.
    public let faults: [JobFileFault]
    /// The settings that can never take effect, among those that could be read.
    public let warnings: [JobFileFault]

    /// Creates the report of `faults`, in any order; those of one place keep theirs.
    public init(path: String, faults: [JobFileFault], warnings: [JobFileFault] = []) {
        self.path = path
        self.faults = faults.inOrder
        self.warnings = warnings.inOrder
    }

    /// All faults, one below the other.
    public var description: String {
        faults.map { $0.text(path: path) }.joined(separator: "\n")
    }
}

extension [JobFileFault] {
    /// By rising line and column; those of one place keep their order.
    var inOrder: [JobFileFault] {
        enumerated()
            .sorted { a, b in
                (a.element.line, a.element.column, a.offset)
                    < (b.element.line, b.element.column, b.offset)
            }
            .map(\.element)
    }

    /// The same faults, each with its path in a tree.
    func placed(in root: YAMLNode) -> [JobFileFault] {
        guard !isEmpty else { return self }
        let paths = root.paths(of: Set(compactMap(\.place)))
        return map { fault in
            var fault = fault
            fault.path = fault.place.flatMap { paths[$0] }
            return fault
        }
    }
}
