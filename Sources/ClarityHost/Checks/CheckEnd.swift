import ClarityScheduler

/// How the asking of a check came to its end.
enum CheckEnd: Hashable {
    /// The program ended by itself.
    ///
    /// `note` is what it said on its standard output, where that is listened to and as
    /// `CheckEnd.note(of:)` takes it; empty for nothing.
    case exited(status: Int32, note: String = "")
    case killed(signal: Int32)
    /// There was no answer in time.
    case late
    /// An earlier process of the check was killed and does not end.
    case stuck
    /// There was nobody to ask, and why.
    case notStarted(String)

    /// What a program for URLs exits with when nothing answered: EX_UNAVAILABLE of sysexits.h.
    static let nothingAnswered: Int32 = 69

    /// What this makes of the check's question: an answer, or unknown with the reason.
    ///
    /// - Parameters:
    ///   - took: how long the program ran.
    ///   - at: when it ended.
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

    /// What may be shown of what a program for URLs wrote: one line of at most 60 lower-case letters,
    /// digits and blanks, such as `503` or `could not connect`; of anything else nothing.
    static func note(of bytes: ArraySlice<UInt8>) -> String {
        let line = bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes
        let isPlain = line.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x20
        }
        return isPlain && line.count <= 60 ? String(decoding: line, as: UTF8.self) : ""
    }
}

extension CheckDeclaration {
    /// Who is asked, for people: `command mountpoint`, or a URL without its query. Neither a
    /// command's arguments nor what it writes is shown.
    var subject: String {
        switch question {
        case .command(let words): "command \(printable(words.first ?? "", atMost: 100))"
        case .url(let url): printable(String(url.prefix { $0 != "?" }), atMost: 100)
        }
    }
}

extension Duration {
    /// `10 s`, or `250 ms` where it is no whole number of seconds.
    fileprivate var inOneUnit: String {
        milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }
}
