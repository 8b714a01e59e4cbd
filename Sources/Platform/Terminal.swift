import ClarityScheduler
@preconcurrency import Glibc
import Synchronization

/// The terminal of the person who started this program, whatever its standard input is.
///
/// Questions go to the standard error, so that they never end up in a file of results.
public struct Terminal: ~Copyable {
    /// What a person answered to a question.
    public enum Answer: Equatable {
        /// The bytes of the line, without its end.
        case line([UInt8])
        /// The input has ended (Ctrl-D), or the terminal is gone.
        case closed
    }

    /// The maximum size of a line in bytes: that of the kernel's own line editing (N_TTY_BUF_SIZE).
    private static let longestLine = 4096

    private let descriptor: Int32

    /// Opens the terminal; `nil` if there is none.
    public init?() {
        descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        var settings = termios()
        guard tcgetattr(descriptor, &settings) == 0 else {
            close(descriptor)
            return nil
        }
    }

    deinit { close(descriptor) }

    /// Asks for one line; with `isSecret` the input is not shown.
    ///
    /// A signal that ends or stops this program meanwhile (SIGINT, SIGQUIT, SIGTERM, SIGHUP,
    /// SIGTSTP) takes effect after the terminal is restored. After a stop the question is asked
    /// again. Input from before the question is dropped, because it was not meant for it.
    public func ask(_ question: String, isSecret: Bool) -> Answer {
        while true {
            switch askOnce(question, isSecret) {
            case .answer(let answer): return answer
            case .signal(let number): Interruptions.deliver(number)
            }
        }
    }

    /// Asks a question, and returns whether the answer is `y` or `yes`, in any case and with spaces
    /// around it.
    public func agrees(to question: String) -> Bool {
        guard case .line(let answer) = ask(question, isSecret: false) else { return false }
        return Terminal.isYes(answer)
    }

    static func isYes(_ answer: [UInt8]) -> Bool {
        let words = String(decoding: answer, as: UTF8.self).lowercased().split(separator: " ")
        return words == ["y"] || words == ["yes"]
    }

    private enum Event {
        case answer(Answer)
        case signal(Int32)
    }

    private func askOnce(_ question: String, _ isSecret: Bool) -> Event {
        var before = termios()
        guard tcgetattr(descriptor, &before) == 0, let interruptions = Interruptions() else {
            return .answer(.closed)
        }
        // In this order: while the input is hidden, every signal finds its handler.
        defer { interruptions.end() }
        var quiet = before
        if isSecret { quiet.c_lflag &= ~tcflag_t(ECHO | ECHOE | ECHOK | ECHONL) }
        guard tcsetattr(descriptor, TCSAFLUSH, &quiet) == 0 else { return .answer(.closed) }
        defer {
            tcsetattr(descriptor, TCSAFLUSH, &before)
            // The line end was not shown either.
            if isSecret { show("\n") }
        }
        show(question)
        return readLine(interruptions)
    }

    private func readLine(_ interruptions: Interruptions) -> Event {
        var line: [UInt8] = []
        while true {
            var polls = [
                pollfd(fd: interruptions.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&polls, nfds_t(polls.count), -1) > 0 else {
                if errno == EINTR { continue }
                return .answer(.closed)
            }
            if polls[0].revents != 0, let number = interruptions.next() { return .signal(number) }
            guard polls[1].revents != 0 else { continue }
            var byte: UInt8 = 0
            let count = read(descriptor, &byte, 1)
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count == 1 else { return .answer(.closed) }
            if byte == UInt8(ascii: "\n") { return .answer(.line(line)) }
            if line.count < Terminal.longestLine { line.append(byte) }
        }
    }

    private func show(_ text: String) {
        let bytes = Array(text.utf8)
        // A question that nobody can see is answered blindly or not at all.
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}

/// Collects the signals that come while the terminal is changed, as bytes in a pipe.
///
/// There is only one instance at a time.
private struct Interruptions {
    private static let numbers = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP]

    let descriptor: Int32
    private let earlier: [sigaction]

    /// Installs the handlers; `nil` if no pipe can be created.
    init?() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        descriptor = ends[0]
        bell.store(ends[1], ordering: .relaxed)
        var earlier: [sigaction] = []
        for number in Interruptions.numbers {
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                let code = errno
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(bell.load(ordering: .relaxed), &byte, 1)
                errno = code
            }
            action.sa_flags = SA_RESTART
            var before = sigaction()
            sigaction(number, &action, &before)
            earlier.append(before)
        }
        self.earlier = earlier
        // The process that started this program may have blocked them, and so may the creator of
        // this thread.
        var mask = sigset_t()
        sigemptyset(&mask)
        for number in Interruptions.numbers { sigaddset(&mask, number) }
        pthread_sigmask(SIG_UNBLOCK, &mask, nil)
    }

    /// Returns the signal that came; `nil` if there is none.
    func next() -> Int32? {
        var byte: UInt8 = 0
        return read(descriptor, &byte, 1) == 1 ? Int32(byte) : nil
    }

    /// Restores the earlier handlers, and closes the pipe.
    func end() {
        for (number, action) in zip(Interruptions.numbers, earlier) {
            var action = action
            sigaction(number, &action, nil)
        }
        close(bell.exchange(-1, ordering: .relaxed))
        close(descriptor)
    }

    /// Lets a signal do what it does to a program that has no handler for it. Returns if it stopped
    /// this program and SIGCONT followed.
    static func deliver(_ number: Int32) {
        var mask = sigset_t()
        sigemptyset(&mask)
        sigaddset(&mask, number)
        var action = sigaction()
        action.__sigaction_handler.sa_handler = SIG_DFL
        var before = sigaction()
        sigaction(number, &action, &before)
        pthread_sigmask(SIG_UNBLOCK, &mask, nil)
        raise(number)
        sigaction(number, &before, nil)
    }
}

/// The end of the pipe that the handler writes to. Global, because a signal handler can reach
/// nothing else.
private let bell = Atomic<Int32>(-1)

/// Decides on the text of a bar that shows how far a piece of work is, and on when to draw it.
public struct ProgressBar: Sendable {
    /// The minimum time between two bars.
    public static let pace = Duration.milliseconds(100)
    /// The time after which the rate and the remaining time are estimated.
    private static let firstEstimate = Duration.seconds(1)

    private let startedAt: Duration
    private var shownAt: Duration?

    /// Creates the bar of work that begins at `elapsed` on the monotonic clock.
    public init(at elapsed: Duration) { startedAt = elapsed }

    /// Returns whether the last bar is old enough for another one, which counts as drawn then.
    public mutating func isDue(at elapsed: Duration) -> Bool {
        if let shownAt, elapsed - shownAt < ProgressBar.pace { return false }
        shownAt = elapsed
        return true
    }

    /// Estimates the remaining time from the share that is done: `9 s left`. `nil` in the first
    /// second, and below 2 %.
    public func timeLeft(_ share: Double, at elapsed: Duration) -> String? {
        let spent = elapsed - startedAt
        guard spent >= ProgressBar.firstEstimate, share >= 0.02 else { return nil }
        let seconds = (Int64(Double(spent.milliseconds) * (1 - share) / share) + 999) / 1000
        return seconds < 60 ? "\(seconds) s left" : "\(seconds / 60) min \(seconds % 60) s left"
    }

    /// Returns how much was done in a second on average: `120/s`. `nil` in the first second.
    public func rate(_ done: Int64, at elapsed: Duration) -> String? {
        let spent = elapsed - startedAt
        guard spent >= ProgressBar.firstEstimate else { return nil }
        let rate = Int64(Double(done) * 1000 / Double(spent.milliseconds))
        // A slow part shows its time left, which says more than `0/s`.
        return rate > 0 ? "\(rate)/s" : nil
    }

    /// Returns a bar and the facts, at most `width` columns wide; the facts alone if the share is
    /// not known, or if there is no room for a bar.
    public static func text(_ facts: [String], share: Double?, width: Int) -> String {
        let text = facts.joined(separator: "  ")
        let room = min(30, width - text.count - 4)
        guard let share, room >= 5 else { return String(text.prefix(width)) }
        let filled = Int((Double(room) * share).rounded(.down))
        return "[" + String(repeating: "=", count: filled)
            + String(repeating: " ", count: room - filled) + "] \(text)"
    }

    /// Returns a share in whole percent.
    public static func percent(_ share: Double) -> Int64 { Int64(share * 100) }
}

/// A line of the error output that is drawn again and again, and removed in the end.
public struct TerminalLine: Sendable {
    /// TIOCGWINSZ (ioctl_tty(2)), a macro that Swift does not see.
    private static let getSize: UInt = 0x5413
    /// Returns to the start of the line, and clears what follows.
    private static let clear = "\r\u{1B}[K"

    private var isDrawn = false

    /// Creates the line; `nil` unless the error output is a terminal that can clear a line.
    /// Elsewhere, the lines would follow one another.
    public init?() {
        guard isatty(STDERR_FILENO) == 1, Environment.value("TERM") != "dumb"
        else { return nil }
    }

    /// The number of columns of the terminal behind a descriptor; `nil` if it reports none.
    public static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard ioctl(descriptor, getSize, &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// The widest text that does not wrap; 79 if the terminal does not report its width.
    public var width: Int { (TerminalLine.columns(of: STDERR_FILENO) ?? 80) - 1 }

    /// Shows a text in place of the last one.
    public mutating func draw(_ text: String) {
        isDrawn = true
        fputs("\(TerminalLine.clear)\(text)", stderr)
    }

    /// Removes the text.
    public mutating func erase() {
        if isDrawn { fputs(TerminalLine.clear, stderr) }
        isDrawn = false
    }
}

/// A QR code (ISO/IEC 18004), which a phone's camera reads from a terminal.
///
/// libqrencode makes it. The library is loaded when the first code is made, and never linked: hardly
/// a start of a program needs it.
public struct QRCode {
    /// Why there is no code.
    public enum Fault: Error, Hashable, CustomStringConvertible {
        case noLibrary
        /// The text is longer than a code can have, or there is no memory.
        case refused
        case tooNarrow(columns: Int, wanted: Int)

        public var description: String {
            switch self {
            case .noLibrary: "the package libqrencode4 is not installed"
            case .refused: "the text is too long for one"
            case .tooNarrow(let columns, let wanted):
                "the terminal has \(columns) columns, and it needs \(wanted)"
            }
        }
    }

    private typealias Encode =
        @convention(c) (
            Int32, UnsafePointer<UInt8>, Int32, Int32
        ) -> UnsafeMutableRawPointer?
    private typealias Free = @convention(c) (UnsafeMutableRawPointer) -> Void

    /// The margin that readers need, in modules.
    private static let margin = 4

    /// The modules on one side, without the margin.
    private let width: Int
    private let isBlack: [Bool]

    /// Makes the code of a text, which corrects damage of 7 %.
    public init(_ text: String) throws(Fault) {
        // The soname fixes the types of these functions, as qrencode.h has them.
        guard let library = dlopen("libqrencode.so.4", RTLD_NOW | RTLD_LOCAL),
            let encode = dlsym(library, "QRcode_encodeData"),
            let free = dlsym(library, "QRcode_free")
        else { throw .noLibrary }
        let bytes = Array(text.utf8)
        let made = unsafeBitCast(encode, to: Encode.self)(Int32(bytes.count), bytes, 0, 0)
        guard let made else { throw .refused }
        defer { unsafeBitCast(free, to: Free.self)(made) }
        // `QRcode` has the version, the width, and a byte for each module, row by row. The lowest bit
        // of a black one is set.
        width = Int(made.load(fromByteOffset: 4, as: Int32.self))
        let modules = made.load(fromByteOffset: 8, as: UnsafePointer<UInt8>.self)
        isBlack = (0..<width * width).map { modules[$0] & 1 == 1 }
    }

    /// Returns lines with two rows of modules each, black on white whatever the terminal's colours
    /// are.
    ///
    /// - Parameter columns: those of the terminal; `nil` if it does not say.
    public func text(columns: Int?) throws(Fault) -> String {
        let side = width + 2 * QRCode.margin
        if let columns, columns < side { throw .tooNarrow(columns: columns, wanted: side) }
        return stride(from: 0, to: side, by: 2).map { row in
            let line = (0..<side).map { column in
                switch (isBlack(row, column), isBlack(row + 1, column)) {
                case (false, false): " "
                case (true, false): "\u{2580}"
                case (false, true): "\u{2584}"
                case (true, true): "\u{2588}"
                }
            }.joined()
            return "\u{1B}[38;5;16;48;5;231m\(line)\u{1B}[0m\n"
        }.joined()
    }

    private func isBlack(_ row: Int, _ column: Int) -> Bool {
        let (row, column) = (row - QRCode.margin, column - QRCode.margin)
        guard (0..<width).contains(row), (0..<width).contains(column) else { return false }
        return isBlack[row * width + column]
    }
}
