import Testing

/// A job file's text, and the messages printed about it.
struct MessageCase: Sendable, CustomTestStringConvertible {
    var text: String
    var printed: [String]

    /// Makes a file with one job that has these keys from line 6, column 5 on.
    init(job: String, top: String = "", _ printed: String...) {
        text = JobFileSamples.file(job: job, top: top)
        self.printed = printed
    }

    /// Takes the text of a whole file.
    init(_ text: String, _ printed: String...) {
        self.text = text
        self.printed = printed
    }

    var testDescription: String { printed.first ?? "no fault" }
}
