import ClarityScheduler
import Platform

/// How a question to a check ended.
enum CheckEnd: Hashable {
    /// The program ended by itself.
    ///
    /// `note` is its standard output, if that is read, as `CheckEnd.note(of:)` returns it; empty
    /// for none.
    case exited(status: Int32, note: String = "")
    case killed(signal: Int32)
    /// The check timed out.
    case late
    /// An earlier process of the check was killed and has not ended.
    case stuck
    /// The program could not be started, with the reason.
    case notStarted(String)

    /// The exit status of a program for URLs when nothing answered: EX_UNAVAILABLE of sysexits.h.
    static let nothingAnswered: Int32 = 69

    /// Returns the check's answer, or unknown with the reason.
    ///
    /// - Parameters:
    ///   - check: The check that was asked.
    ///   - took: How long the program ran.
    ///   - instant: When it ended.
    func reading(
        of check: CheckDeclaration, took: Duration, at instant: Instant
    ) -> Conditions.Reading<Bool> {
        let (value, text) = answer(to: check, took: took)
        return Conditions.Reading(value, source: "\(check.subject): \(text)", at: instant)
    }

    private func answer(to check: CheckDeclaration, took: Duration) -> (Bool?, String) {
        switch (self, check.question) {
        case (.exited(let status, _), .command):
            (status == 0, "exit \(status) in \(max(took, .zero).milliseconds) ms")
        case (.exited(0, let note), .url): (true, note.isEmpty ? "answered" : note)
        case (.exited(1, let note), .url): (false, note.isEmpty ? "another answer" : note)
        case (.exited(CheckEnd.nothingAnswered, let note), .url):
            (false, note.isEmpty ? "nothing answered" : note)
        case (.exited(let status, _), .url): (nil, "could not be asked, exit \(status)")
        case (.killed(let signal), _): (nil, "killed by signal \(signal)")
        case (.late, _): (nil, "no answer within \(check.timeout.inOneUnit)")
        case (.stuck, _): (nil, "killed at its time limit before, and not gone since")
        case (.notStarted(let reason), _): (nil, reason)
        }
    }

    /// Returns the output of a program for URLs if it is safe to show: one line of at most 60
    /// lower-case letters, digits and spaces, such as `503` or `could not connect`. Returns an
    /// empty string for any other output.
    static func note(of bytes: ArraySlice<UInt8>) -> String {
        let line = bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes
        let isPlain = line.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x20
        }
        return isPlain && line.count <= 60 ? String(decoding: line, as: UTF8.self) : ""
    }
}

extension CheckDeclaration {
    /// What is asked, for display: `command mountpoint`, or a URL without its query. A command's
    /// arguments and output are not shown.
    var subject: String {
        switch question {
        case .command(let words): "command \(printable(words.first ?? "", atMost: 100))"
        case .url(let url): printable(String(url.prefix { $0 != "?" }), atMost: 100)
        }
    }
}

extension Duration {
    /// `10 s`, or `250 ms` if it is not a whole number of seconds.
    fileprivate var inOneUnit: String {
        milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }
}
