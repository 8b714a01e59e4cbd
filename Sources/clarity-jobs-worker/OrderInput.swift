import ClarityScheduler

/// Reads the order on the standard input, up to `end` or the end of the input.
enum OrderInput {
    /// Returns the order; `nil` if it is faulty, after writing why to the error output.
    static func read() -> AttemptOrder? {
        var lines: [String] = []
        while lines.last != "end", let line = readLine() { lines.append(line) }
        do {
            return try AttemptOrder(lines: lines)
        } catch {
            complain("the order on the standard input is faulty: expected \(error.expected)")
            return nil
        }
    }
}
