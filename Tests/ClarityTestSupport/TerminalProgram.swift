import CLinux
import Dispatch
@preconcurrency import Glibc

/// A program on a pseudo-terminal of its own, with the test as its user.
///
/// The program leads a session whose controlling terminal that is. The test reads everything that
/// the program writes, and what the terminal echoes.
///
/// `@unchecked`: only one task at a time uses it.
public final class TerminalProgram: @unchecked Sendable {
    /// TIOCSPTLCK and TIOCGPTN (ioctl_tty(2)), and POSIX_SPAWN_SETSID: macros that Swift does not
    /// import.
    private static let setLock: UInt = 0x4004_5431
    private static let getNumber: UInt = 0x8004_5430
    private static let newSession: Int16 = 0x80
    /// TIOCSWINSZ (ioctl_tty(2)).
    private static let setSize: UInt = 0x5414

    public let processID: Int32
    private let screen: Int32
    private var shown: [UInt8] = []
    private var isReaped = false

    /// Starts a program with exactly this environment.
    ///
    /// - Parameters:
    ///   - hasTerminal: without a terminal, the program leads a session that has none, and its
    ///     output is still read here.
    ///   - columns: the width that the terminal reports; 0 reports none.
    public init(
        _ path: String, _ arguments: [String], environment: [String: String],
        hasTerminal: Bool = true, columns: UInt16 = 0
    ) throws {
        // What posix_openpt(3), unlockpt(3) and ptsname(3) do here. Swift imports none of them.
        screen = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (lock, number): (Int32, Int32) = (0, 0)
        guard screen >= 0, ioctl(screen, TerminalProgram.setLock, &lock) == 0,
            ioctl(screen, TerminalProgram.getNumber, &number) == 0
        else { throw TemporaryFolder.Errno(code: errno) }
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard columns == 0 || ioctl(screen, TerminalProgram.setSize, &size) == 0 else {
            throw TemporaryFolder.Errno(code: errno)
        }
        let terminal = "/dev/pts/\(number)"
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The first terminal that the leader of a session opens becomes the session's.
        posix_spawn_file_actions_addopen(
            &actions, 0, terminal, O_RDWR | (hasTerminal ? 0 : O_NOCTTY), 0)
        posix_spawn_file_actions_adddup2(&actions, 0, 1)
        posix_spawn_file_actions_adddup2(&actions, 0, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, TerminalProgram.newSession)
        let words = ([path] + arguments).map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (words + variables).forEach { free($0) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, path, &actions, &attributes, words, variables)
        guard code == 0 else { throw TemporaryFolder.Errno(code: code) }
        processID = child
    }

    deinit {
        if !isReaped {
            kill(processID, SIGKILL)
            var status: Int32 = 0
            waitpid(processID, &status, 0)
        }
        close(screen)
    }

    /// Whether the terminal echoes what is typed.
    public var isEchoing: Bool {
        var settings = termios()
        return tcgetattr(screen, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Types a text: `\u{3}` is Ctrl-C, `\u{4}` Ctrl-D, `\u{1A}` Ctrl-Z, `\n` the end of a line.
    public func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(screen, bytes, bytes.count)
    }

    /// Sends a signal to the program.
    public func signal(_ number: Int32) { kill(processID, number) }

    /// Reads until the screen shows `text` for the `count`th time, or until the program ends.
    /// Returns everything that the screen has shown.
    public func read(until text: String, count: Int = 1) async -> String {
        await onThread { self.show { self.screenText.ranges(of: text).count >= count } }
        return screenText
    }

    /// Reads until the program ends. Returns its exit status, or 128 plus the signal that ended it,
    /// and everything that the screen has shown.
    public func finish() async -> (status: Int32, screen: String) {
        let status = await onThread {
            self.show { false }
            var status: Int32 = 0
            while waitpid(self.processID, &status, 0) < 0, errno == EINTR {}
            self.isReaped = true
            return status
        }
        let signal = status & 0x7F
        return (signal == 0 ? (status >> 8) & 0xFF : 128 + signal, screenText)
    }

    /// What the screen has shown. Lines end with a line feed alone, as a program writes them.
    private var screenText: String {
        String(decoding: shown, as: UTF8.self).replacing("\r\n", with: "\n")
    }

    /// Reads until `isEnough`, or until no process has the terminal open (EIO).
    private func show(until isEnough: () -> Bool) {
        var chunk = [UInt8](repeating: 0, count: 4096)
        while !isEnough() {
            let count = Glibc.read(screen, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            shown += chunk[..<count]
        }
    }

    private func onThread<Result: Sendable>(
        _ body: @escaping @Sendable () -> Result
    ) async -> Result {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "terminal").async { @Sendable in
                continuation.resume(returning: body())
            }
        }
    }
}
