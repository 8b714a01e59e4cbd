internal import Glibc

/// Where a command's words go: results to standard output, the rest to standard error.
struct Console: Sendable {
    /// How results are written.
    enum Form: String {
        case table
        case json
        case ndjson
    }

    var form: Form
    var isQuiet: Bool
    var isVerbose: Bool

    /// Writes results as the form asks for: objects as JSON, or the table.
    func results(_ objects: [JSONText], table: @autoclosure () -> Table) {
        switch form {
        case .json: result(JSONText.array(objects).page)
        case .ndjson: objects.forEach { result($0.line) }
        case .table: table().lines.forEach(result)
        }
    }

    /// Writes a line of a result.
    func result(_ line: String) { Console.write(line, to: STDOUT_FILENO) }

    /// Writes a line for people, unless they asked for quiet.
    func note(_ line: String) {
        if !isQuiet { Console.write(printable(line), to: STDERR_FILENO) }
    }

    /// Writes a line about a fault.
    static func fault(_ line: String) { write(printable(line), to: STDERR_FILENO) }

    /// Writes whole lines with write(2), so that lines of two processes never mix.
    ///
    /// What cannot be written is dropped: a reader that went away, as `head` does, is no fault.
    private static func write(_ line: String, to descriptor: Int32) {
        var bytes = Array((line + "\n").utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }
}
