import ClarityScheduler
import Platform

/// The end of a command that did not do its work: lines for the user and an exit status.
struct CommandFailure: Error {
    var status: ExitStatus
    /// The lines. The program's name precedes the first, unless that names a place in a file.
    var lines: [String]

    init(_ status: ExitStatus, _ lines: String...) {
        self.status = status
        self.lines = lines
    }

    /// Splits a text into lines.
    init(_ status: ExitStatus, text: String) {
        self.status = status
        lines = text.split(separator: "\n").map(String.init)
    }

    init(_ error: RunStoreError) {
        self.init(ExitStatus(of: error), error.description)
    }
}

/// Runs `body` and turns an error of the store into a failure of the command.
func askingStore<Result>(
    _ body: () throws(RunStoreError) -> Result
) throws(CommandFailure) -> Result {
    do throws(RunStoreError) {
        return try body()
    } catch {
        throw CommandFailure(error)
    }
}
