/// One thing that is wrong in a job file.
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

    /// Creates a fault.
    public init(line: Int, column: Int, message: String, help: String? = nil) {
        self.line = line
        self.column = column
        self.message = message
        self.help = help
    }

    init(_ position: YAMLNode.Position, _ message: String, help: String? = nil) {
        self.init(line: position.line, column: position.column, message: message, help: help)
    }

    /// The fault as people read it: `jobs.yaml:12:9: unknown key ...`, with `help: ...` on a line
    /// of its own.
    public func text(path: String) -> String {
        let place = line == 0 ? "\(path): " : "\(path):\(line):\(column): "
        return place + message + (help.map { "\nhelp: \($0)" } ?? "")
    }
}

/// Everything that is wrong in a job file, by position.
public struct JobFileFaults: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file's path as it was given.
    public let path: String
    /// At least one fault, by rising line and column.
    public let faults: [JobFileFault]

    /// Creates the report of `faults`, in any order; those of one place keep theirs.
    public init(path: String, faults: [JobFileFault]) {
        self.path = path
        self.faults = faults.enumerated()
            .sorted { a, b in
                (a.element.line, a.element.column, a.offset)
                    < (b.element.line, b.element.column, b.offset)
            }
            .map(\.element)
    }

    /// All faults, one below the other.
    public var description: String {
        faults.map { $0.text(path: path) }.joined(separator: "\n")
    }
}
