import Reports
import ClarityScheduler
import Platform
@preconcurrency import Glibc
import JSON
import Synchronization

/// Writes a command's output: results to standard output, the rest to standard error.
struct Console: Sendable {
    /// The format of results.
    enum Form: String {
        case table
        case json
        case ndjson
    }

    var form: Form
    var isQuiet: Bool
    var isVerbose: Bool
    private let shared = Shared()
    private var part: Part?

    init(form: Form, isQuiet: Bool, isVerbose: Bool) {
        self.form = form
        self.isQuiet = isQuiet
        self.isVerbose = isVerbose
    }

    /// Why a result could not be written, such as a full disk; `nil` if none was lost.
    ///
    /// A reader that goes away, as `head` does, is not a loss.
    var lostResult: String? {
        shared.code.withLock { $0.map { SystemError(code: $0).reason } }
    }

    /// Shows times by the clocks of a zone from now on: the named one, else this machine's. A person
    /// at a terminal sees them as `today 20:23`, others whole and with the zone's offset; JSON has UTC.
    func showTimes(inZone name: String?, environment: [String: String], clock: any WallClock) {
        // Read when the first time is shown, and most commands from cron show none.
        let zone = Lazy {
            NearTimes(zoneNamed: name, environment: environment, now: clock.now).zone
        }
        let isWhole = !Console.isTerminal
        shared.times.withLock {
            $0 = { NearTimes(zone: zone.value, now: clock.now, isWhole: isWhole) }
        }
    }

    /// A value that is made when it is first wanted.
    private final class Lazy<Value: Sendable>: Sendable {
        private let make: @Sendable () -> Value
        private let made = Mutex<Value?>(nil)

        init(_ make: @escaping @Sendable () -> Value) { self.make = make }

        var value: Value {
            made.withLock { made in
                let value = made ?? make()
                made = value
                return value
            }
        }
    }

    /// How times are shown; `nil` if the zone is not known yet.
    var times: NearTimes? { shared.times.withLock(\.self)?() }

    /// Writes rows in the requested form: objects as JSON, or a table.
    func results<Row: Reported>(_ rows: [Row]) { results(rows, Row.report) }

    /// Writes rows in the requested form, with the columns of a report of their own.
    func results<Row>(_ rows: [Row], _ report: Report<Row>) {
        guard form == .table else { return results(rows.map(report.object), lines: []) }
        // The table has cleaned its cells, and may have added colours.
        let style = terminalStyle
        report.table(rows).lines(in: style, times).forEach(result)
    }

    /// Writes rows in the requested form: objects as JSON, or the lines.
    func results<Row: Reported>(_ rows: [Row], lines: @autoclosure () -> [String]) {
        results(form == .table ? [] : rows.map(\.object), lines: lines())
    }

    /// Writes one result in the requested form: the lines for people, or the object.
    func results(_ lines: @autoclosure () -> [String], _ row: some Reported) {
        if form == .table { lines().forEach(show) } else { results([], row.object) }
    }

    /// Writes results in the requested form: the objects as JSON, or the lines.
    func results(_ objects: [JSON], lines: @autoclosure () -> [String]) {
        if let part, form != .table { return objects.forEach { part.add($0) } }
        switch form {
        case .json: result(JSON.array(objects).page)
        case .ndjson: objects.forEach { result($0.line) }
        case .table: lines().forEach(show)
        }
    }

    /// Writes one result in the requested form: the lines for people, or the object.
    func results(_ lines: [String], _ object: JSON) {
        if let part, form != .table { return part.add(object) }
        switch form {
        case .json: result(object.page)
        case .ndjson: result(object.line)
        case .table: lines.forEach(show)
        }
    }

    /// Begins results that consist of parts: one list in JSON, and a heading each for people.
    func partedList() -> PartedList { PartedList(list()) }

    /// Returns a console that writes one part of such results.
    func part(named name: String? = nil, of list: PartedList) -> Console {
        var console = self
        console.part = Part(name: name, list: list)
        return console
    }

    /// Begins a list whose elements are written one by one.
    func list() -> ListOutput { ListOutput(self) }

    /// Writes a line of a result for people, as it fits a terminal.
    func show(_ line: String) { fitted(line).forEach(result) }

    /// Returns a line for people as it fits the standard output if that is a terminal.
    func fitted(_ line: String) -> [String] {
        terminalStyle?.fitted(line.printable)
            ?? [times?.replaced(in: line.printable) ?? line.printable]
    }

    /// Writes a line of a result.
    func result(_ line: String) { text(line + "\n") }

    /// Writes whole lines of a result.
    func text(_ text: String) {
        let heading = form == .table ? part?.heading.withLock { $0.take() } : nil
        let text = (heading ?? "") + text
        if let queue = shared.queue.withLock(\.self) {
            queue.put(text, isResult: true)
        } else {
            shared.note(Console.write(text, to: STDOUT_FILENO))
        }
    }

    /// Writes on a thread of its own while `body` runs: it decides what starts when, and nothing that
    /// is written may hold it up. Waits for the results at the end, and a second for the messages.
    func writingAside<Result, Failure: Error>(
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let queue = MessageQueue { [shared] text, descriptor in
            let code = Console.write(text, to: descriptor)
            if descriptor == STDOUT_FILENO { shared.note(code) }
        }
        shared.queue.withLock { $0 = queue }
        defer {
            shared.queue.withLock { $0 = nil }
            queue.finish(within: .seconds(1))
        }
        return try await body()
    }

    /// The time by the clock and a blank, such as `02:15:03 `, before what a loop says at a terminal.
    /// Empty elsewhere: a journal has times of its own.
    var stamp: String {
        guard isatty(STDERR_FILENO) == 1, let times else { return "" }
        return times.zone.text(times.now).dropFirst(11).prefix(8) + " "
    }

    /// Writes a line for people, unless they asked for quiet.
    func note(_ line: String) {
        if !isQuiet { message((part?.name.map { "\($0): " } ?? "") + line) }
    }

    /// Writes a line about a fault, with the name of the part of the results that it is about.
    func complain(_ line: String) {
        message((part?.name.map { "\($0): " } ?? "clarity-jobs: ") + line)
    }

    /// Writes a line about a fault as it is.
    func fault(_ line: String) { message(line, isNear: false) }

    private func message(_ line: String, isNear: Bool = true) {
        let text = Console.lines(line, isNear ? times : nil)
        if let queue = shared.queue.withLock(\.self) {
            queue.put(text, isResult: false)
        } else {
            _ = Console.write(text, to: STDERR_FILENO)
        }
    }

    /// Writes a line about a fault. A failure to write it is ignored: nobody is left to tell.
    static func fault(_ line: String) { _ = write(lines(line, nil), to: STDERR_FILENO) }

    private static func lines(_ line: String, _ times: NearTimes?) -> String {
        var lines = [times?.replaced(in: line.printable) ?? line.printable]
        if let width = TerminalLine.columns(of: STDERR_FILENO) {
            var style = PageStyle(width: width, isPlain: true)
            style.times = times
            lines = style.fitted(line.printable)
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Writes a text with a single write(2) if possible, so that lines of two processes do not mix.
    ///
    /// - Returns: 0 or the error number; after an error the rest of the text is dropped.
    static func write(_ text: String, to descriptor: Int32) -> Int32 {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                bytes = bytes.dropFirst(count)
            } else if errno == EAGAIN {
                // Another process shares the pipe and has made it non-blocking.
                var full = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&full, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }

    /// A list of results that is too long to be kept: a line each for people, or JSON.
    struct ListOutput {
        private let console: Console
        private var isEmpty = true

        fileprivate init(_ console: Console) { self.console = console }

        mutating func add(_ line: @autoclosure () -> String, _ object: @autoclosure () -> JSON) {
            switch console.form {
            case .table: console.show(line())
            case .ndjson: console.result(object().line)
            case .json: console.result("\(isEmpty ? "[" : ",")\n\(object().line)")
            }
            isEmpty = false
        }

        /// Ends the list, which is complete JSON then.
        func end() { if console.form == .json { console.result(isEmpty ? "[]" : "]") } }
    }

    /// Results that consist of parts.
    final class PartedList: Sendable {
        /// What each object has in front, if the part is of an account.
        static let account = Report<String>([
            Column("account", "id of the account, if the command is for several") { $0 }
                .optional()
        ])

        private let list: Mutex<ListOutput>

        fileprivate init(_ list: ListOutput) { self.list = Mutex(list) }

        fileprivate func add(_ object: JSON) { list.withLock { $0.add("", object) } }

        /// Ends the list, which is complete JSON then.
        func end() { list.withLock { $0.end() } }
    }

    /// One part of the results, such as those for one account.
    private final class Part: Sendable {
        let name: String?
        /// The heading for people, until it is written.
        let heading: Mutex<String?>
        private let list: PartedList

        init(name: String?, list: PartedList) {
            self.name = name
            heading = Mutex(name.map { "\($0.printable):\n" })
            self.list = list
        }

        func add(_ object: JSON) {
            list.add(name.map { PartedList.account.object($0).adding(object) } ?? object)
        }
    }

    /// What the copies of a console share.
    private final class Shared: Sendable {
        /// The first error that occurred while writing results.
        let code = Mutex<Int32?>(nil)
        /// Where the lines of a scheduler go.
        let queue = Mutex<MessageQueue?>(nil)
        /// Makes the times that a person sees; `nil` until the zone is known.
        let times = Mutex<(@Sendable () -> NearTimes)?>(nil)

        /// Notes how the writing of a result ended: 0 or an error number.
        func note(_ code: Int32) {
            if code != 0, code != EPIPE { self.code.withLock { $0 = $0 ?? code } }
        }
    }
}

/// Writes a scheduler's lines on a thread of its own, so that a pipe that nobody reads, or a disk that
/// is slow, holds up no decision.
///
/// Messages beyond 256 KiB that wait are dropped, and counted once there is room again. Results are
/// never dropped.
final class MessageQueue: Sendable {
    /// The most bytes of messages that wait.
    static let room = 256 << 10

    private struct State: Sendable {
        var lines: [(text: String, isResult: Bool)] = []
        var messageBytes = 0
        var resultsLeft = 0
        var dropped = 0
        /// Whether the thread is writing, or is about to.
        var isWriting = false
    }

    private let state = Monitor(State())
    private let write: @Sendable (_ text: String, _ descriptor: Int32) -> Void

    init(write: @escaping @Sendable (_ text: String, _ descriptor: Int32) -> Void) {
        self.write = write
    }

    /// Puts whole lines in the queue, for standard output or, as messages, for standard error.
    func put(_ text: String, isResult: Bool) {
        let isIdle = state.change { state in
            guard isResult || state.messageBytes + text.utf8.count <= MessageQueue.room else {
                state.dropped += 1
                return false
            }
            state.lines.append((text, isResult))
            if isResult { state.resultsLeft += 1 } else { state.messageBytes += text.utf8.count }
            defer { state.isWriting = true }
            return !state.isWriting
        }
        // A thread for each burst: an idle scheduler has none.
        if isIdle, DetachedThread.start({ self.writeAll() }) != 0 { writeAll() }
    }

    private func writeAll() {
        while let line = next() { write(line.text, line.isResult ? STDOUT_FILENO : STDERR_FILENO) }
    }

    /// Returns the next line; `nil` when there is none, and the thread ends.
    private func next() -> (text: String, isResult: Bool)? {
        state.change { state in
            if state.dropped > 0, state.messageBytes <= MessageQueue.room / 2 {
                defer { state.dropped = 0 }
                return (
                    "clarity-jobs: \(state.dropped) messages were dropped: nobody read standard "
                        + "error in time\n", false
                )
            }
            guard !state.lines.isEmpty else {
                (state.isWriting, state.resultsLeft) = (false, 0)
                return nil
            }
            let line = state.lines.removeFirst()
            state.resultsLeft = state.lines.count(where: \.isResult) + (line.isResult ? 1 : 0)
            if !line.isResult { state.messageBytes -= line.text.utf8.count }
            return line
        }
    }

    /// Waits until all results are written, and so long for the messages.
    func finish(within patience: Duration) {
        state.change(when: { !$0.isWriting || $0.resultsLeft == 0 }) { _ in }
        state.change(when: { !$0.isWriting }, within: patience) { _ in }
    }
}

/// A file or standard output that receives one whole line at a time.
struct LineOutput: Sendable {
    private let descriptor: Int32

    /// Writes to standard output.
    static let standard = LineOutput(descriptor: STDOUT_FILENO)

    private init(descriptor: Int32) { self.descriptor = descriptor }

    /// Creates a file that only its owner can access.
    ///
    /// An existing file is left unchanged and refused, unless it may be replaced. The file stays
    /// open for as long as the process lives.
    init(makingFileAt path: String, mayReplace: Bool) throws(SystemError) {
        descriptor = open(
            path, O_WRONLY | O_CREAT | O_CLOEXEC | (mayReplace ? O_TRUNC : O_EXCL), 0o600)
        guard descriptor >= 0 else { throw SystemError() }
    }

    /// Writes a line. If it cannot be written completely, a file is truncated to its earlier
    /// length.
    func write(_ line: String) throws(SystemError) {
        let start = lseek(descriptor, 0, SEEK_CUR)
        let code = Console.write(line + "\n", to: descriptor)
        guard code != 0 else { return }
        if start >= 0 { ftruncate(descriptor, start) }
        throw SystemError(code: code)
    }
}
