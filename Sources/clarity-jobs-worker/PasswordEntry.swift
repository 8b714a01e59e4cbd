import HealthStore
import HealthModel
import ClarityScheduler
import Platform
@preconcurrency import Glibc

/// The source of a password.
enum PasswordEntry: String {
    /// One line of the standard input; if that is a terminal, as with `person`, since a line that
    /// is read there would be shown.
    case input = "stdin"
    /// The service manager's credential, or else the terminal.
    case person = "ask"

    /// Why there is no password, in words for people.
    struct Missing: Error {
        var words: String
    }

    /// Returns the password of `email`.
    ///
    /// - Throws: `Missing`; `Failure` for a credential that cannot be used.
    func password(of email: String) throws -> Secret {
        let question = "Password for \(email.printable): "
        return switch self {
        case .input where !isTyped: try standardInput()
        case .input: try terminal(question)
        case .person: try credential() ?? terminal(question)
        }
    }

    /// Returns a new password of `email`; on a terminal it is asked for twice.
    ///
    /// - Throws: `Missing`, also if the two differ.
    func newPassword(of email: String) throws -> Secret {
        guard self == .person || isTyped else { return try standardInput() }
        let first = try terminal("New password for \(email.printable): ")
        guard try terminal("The same again: ") == first else {
            throw Missing(words: "the two passwords differ")
        }
        return first
    }

    /// Asks for the code that was mailed to `email`.
    ///
    /// - Throws: `Missing`.
    static func code(of email: String) throws -> Secret {
        guard let code = try code(asking: "Code from the mail to \(email.printable): ") else {
            throw Missing(words: "no code was typed")
        }
        return code
    }

    /// Asks for the code that was mailed to `email`; `nil` if the person wants another mail.
    ///
    /// - Throws: `Missing`.
    static func codeOrWish(of email: String) throws -> Secret? {
        try code(asking: "Code from the mail to \(email.printable) (Enter: mail another): ")
    }

    private static func code(asking question: String) throws -> Secret? {
        guard let terminal = Terminal() else {
            throw Missing(words: "there is no terminal to ask for the code on; use --code CODE")
        }
        guard case .line(let bytes) = terminal.ask(question, isSecret: true) else {
            throw Missing(words: "no code was typed")
        }
        return bytes.isEmpty ? nil : Secret(passwordLine: bytes)
    }

    /// Whether a person can be asked, and is not replaced by the standard input.
    var hasPerson: Bool { (self == .person || isTyped) && Terminal() != nil }

    /// Whether a person types what the standard input gives.
    private var isTyped: Bool { isatty(STDIN_FILENO) == 1 && Terminal() != nil }

    private func standardInput() throws -> Secret {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        // Reads at most the longest line, its end (CR LF), and one byte too many.
        while bytes.count < SessionPassword.longest + 3 {
            let count = read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { break }
            bytes.append(byte)
            if byte == UInt8(ascii: "\n") { break }
        }
        guard let password = Secret(passwordLine: bytes) else {
            throw Missing(words: "no password on standard input; wanted one line with it")
        }
        return password
    }

    private func credential() throws -> Secret? {
        do throws(SessionPasswordError) {
            return try SessionPassword.load(keyEnvironment())
        } catch {
            throw Failure(.configuration, error.description)
        }
    }

    private func terminal(_ question: String) throws -> Secret {
        guard let terminal = Terminal() else {
            throw Missing(
                words: "there is no terminal to ask for the password on; use --password-stdin, or "
                    + "the credential `clarity-jobs.password`")
        }
        guard case .line(let bytes) = terminal.ask(question, isSecret: true),
            let password = Secret(passwordLine: bytes)
        else { throw Missing(words: "no password was typed") }
        return password
    }
}
