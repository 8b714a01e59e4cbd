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
