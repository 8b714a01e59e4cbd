import Testing

/// A text of a job file and what is printed about it.
struct MessageCase: Sendable, CustomTestStringConvertible {
    var text: String
    var printed: [String]

    /// A file with one job with these keys from line 6, column 5 on.
    init(job: String, top: String = "", _ printed: String...) {
        text = JobFileSamples.file(job: job, top: top)
        self.printed = printed
    }

    /// A whole file.
    init(_ text: String, _ printed: String...) {
        self.text = text
        self.printed = printed
    }

    var testDescription: String { printed.first ?? "no fault" }
}
