import ClarityScheduler
import JSON
import Platform
import Synchronization
@preconcurrency import Glibc

/// What a program says of its work in the file that `CLARITY_REPORT` names: JSON objects, one a line.
///
/// | line | meaning |
/// |---|---|
/// | `{"progress": 3, "total": 10}` | how far it is; counts as progress for `stall` |
/// | `{"summary": "14 files saved"}` | a note of the run |
/// | `{"not_before": "2h"}`, or a time by RFC 3339 | a run that ends with status 75 goes on then; after a success the job is paused until then |
/// | `{"pause": "the disk is full"}` | the job is paused until somebody resumes it |
///
/// A later line replaces an earlier one of its kind. What is of another form in a
/// line is left out, and is a note of the run.
struct CommandReport: Sendable {
    /// A longer line, and what follows this many bytes, is not read.
    static let longest = (line: 4096, file: 1 << 20)
    private static let mostFaults = 5

    private let file: ReportFile
    private let now: @Sendable () -> Instant
    private let isOfAccount: Bool
    private var offset = 0
    private var line: [UInt8] = []
    private var number = 0
    private var faults: [String] = []
    private(set) var summary: String?
    private(set) var notBefore: Instant?
    private(set) var pause: String?

    /// - Parameter isOfAccount: whether the job is an account's. The reason of a pause is shown to
    ///   whoever looks after the accounts, and what a program says is not for them.
    init(_ file: ReportFile, isOfAccount: Bool, now: @escaping @Sendable () -> Instant) {
        (self.file, self.isOfAccount, self.now) = (file, isOfAccount, now)
    }

    /// The environment variable that names the file.
    static let variable = "CLARITY_REPORT"

    /// The summary, and what could not be read.
    var notes: [String] { [summary, isOfAccount ? pause : nil].compactMap(\.self) + faults }

    /// Reads what was appended since the last call.
    mutating func read(progress: (_ done: Int64, _ total: Int64) -> Void) {
        while offset < CommandReport.longest.file {
            let bytes = file.bytes(at: offset)
            guard !bytes.isEmpty else { return }
            offset += bytes.count
            for byte in bytes {
                guard byte == UInt8(ascii: "\n") else {
                    if line.count <= CommandReport.longest.line { line.append(byte) }
                    continue
                }
                take(progress)
            }
        }
    }

    /// Reads the last line, which need not have an end.
    mutating func finish(progress: (_ done: Int64, _ total: Int64) -> Void) {
        read(progress: progress)
        if !line.isEmpty { take(progress) }
    }

    private mutating func take(_ progress: (_ done: Int64, _ total: Int64) -> Void) {
        defer { line.removeAll(keepingCapacity: true) }
        number += 1
        guard !line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") }) else {
            return
        }
        guard line.count <= CommandReport.longest.line else {
            return refuse("it has more than \(CommandReport.longest.line) bytes")
        }
        do throws(JSONPart.Fault) {
            let object = try JSONPart(of: line)
            for name in try object.names() {
                let value = try object.member(name)
                switch name {
                case "progress":
                    let total = try object["total"]?.integer() ?? 100
                    let done = try value.integer()
                    guard total > 0, 0...total ~= done else {
                        return refuse("`progress` is not between 0 and its `total`")
                    }
                    progress(Int64(done), Int64(total))
                case "total": break
                case "summary": summary = printable(try value.text(), atMost: 200)
                case "pause": pause = printable(try value.text(), atMost: 200)
                case "not_before": try postpone(until: value)
                default: refuse("unknown key `\(printable(name, atMost: 40))`")
                }
            }
        } catch {
            refuse("\(error)")
        }
    }

    private mutating func postpone(until value: JSONPart) throws(JSONPart.Fault) {
        let text = try value.text()
        if let instant = Instant(rfc3339: text) {
            notBefore = instant
        } else if let span = Duration(text: text) {
            notBefore = now() + span
        } else {
            throw value.fault("is no span such as `2h` and no time such as `2026-11-30T06:00:00Z`")
        }
    }

    private mutating func refuse(_ reason: String) {
        guard faults.count < CommandReport.mostFaults else { return }
        faults.append("line \(number) of its report: \(reason)")
    }

    /// Returns the end of the attempt, as the report changes it.
    ///
    /// - Parameter asksForLater: whether the program ended with status 75, so that nothing failed.
    func applied(to end: AttemptEnd, asksForLater: Bool) -> AttemptEnd {
        var end = end
        end.notes += notes
        let left = notBefore.map { $0 - now() }
        switch end.result {
        case .reported(.success):
            if let notBefore, let left, left > .zero {
                end.pause = PauseRequest(
                    until: notBefore, reason: summary ?? "the job asked for it")
            }
        case .reported(.retry(_, let failure)):
            guard let left, left > .zero else { break }
            end.result = .reported(
                asksForLater
                    ? .snooze(after: left, failure) : .retry(after: left, failure))
        default: break
        }
        if let pause { end.pause = PauseRequest(until: nil, reason: reason(pause)) }
        return end
    }

    private func reason(_ words: String?) -> String {
        isOfAccount ? "its program asked for it" : words ?? "its program asked for it"
    }
}

/// The file into which a program may write its report. It does not exist before the program writes it.
final class ReportFile: Sendable {
    let path: String
    /// -1 until there is a file.
    private let descriptor = Mutex<Int32>(-1)

    /// Removes what a former attempt may have left at the path.
    init(_ path: String) {
        self.path = path
        unlink(path)
    }

    deinit {
        descriptor.withLock { if $0 >= 0 { close($0) } }
    }

    /// Returns the next bytes from an offset on; none while there is no ordinary file.
    func bytes(at offset: Int) -> [UInt8] {
        descriptor.withLock { descriptor in
            if descriptor < 0 {
                descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            }
            guard descriptor >= 0 else { return [] }
            return [UInt8](unsafeUninitializedCapacity: 16 << 10) { buffer, count in
                // A pipe or a folder has no bytes at an offset.
                count = max(pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)), 0)
            }
        }
    }
}
