/// The reason that a file is not a trace of conditions, and where the fault is.
public struct TraceFault: Error, Hashable, Sendable {
    /// The file's path as the caller gave it.
    public var path: String
    /// The line, from 1; `nil` if the fault concerns the whole file.
    public var line: Int?
    /// The column in bytes, from 1, if the line is not JSON.
    public var column: Int?
    public var problem: String
    /// Whether the file does not exist or cannot be read.
    public var isUnreadable = false

    /// Creates a fault.
    public init(path: String, line: Int? = nil, column: Int? = nil, problem: String) {
        self.path = path
        self.line = line
        self.column = column
        self.problem = problem
    }
}

extension TraceFault: CustomStringConvertible {
    /// `night.ndjson:3: unknown name ...`, `night.ndjson:3:14: not JSON: ...`.
    public var description: String {
        let place = [line, column].compactMap { $0.map(String.init) }
        return ([path] + place).joined(separator: ":") + ": \(problem)"
    }
}
