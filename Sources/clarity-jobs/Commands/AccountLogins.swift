import HealthModel
import ClarityHost
import HealthStore
import ClarityScheduler
import Platform
import JSON
@preconcurrency import Glibc

/// `auth login --accounts-from`: logs the accounts of a table in, one after the other.
///
/// All that can be wrong in the table and the passwords is found before the first login, because
/// the backend allows few tries.
struct AccountLogins: ComposedCommand {
    let composition: Composition

    private struct Login {
        var view: JobFile
        var id: AccountID
        var email: String
        var password: String?
    }

    func run(_ table: String) throws(CommandFailure) -> ExitStatus {
        guard composition.arguments["account"] == nil, composition.arguments["email"] == nil else {
            throw CommandFailure(.usage, "--accounts-from takes neither --account nor --email")
        }
        var left: [Login] = []
        for login in try logins(table) where try !isLoggedIn(login) { left.append(login) }
        let list = composition.console.partedList()
        defer { list.end() }
        let pace = PacedLogins(
            count: left.count, wait: { usleep(UInt32(clamping: $0.milliseconds * 1000)) },
            say: { composition.console.complain($0) })
        let status = try pace.run { number throws(CommandFailure) in
            let login = left[number]
            let end = try AuthCommand(composition).logIn(login.email, login.password, login.view)
            if end.status == ExitStatus.deferred.rawValue,
                let wait = LimitedLogin.wait(in: end.output)
            {
                return .limited(wait)
            }
            let console = composition.console.part(named: login.id.rawValue, of: list)
            for line in end.errors.split(separator: "\n") {
                console.complain(String(line.trimmingPrefix("clarity-jobs: ")))
            }
            if console.form == .table {
                end.output.split(separator: "\n").forEach { console.show(String($0)) }
            } else if !end.output.isEmpty {
                console.results([], try AccountLogins.object(end.output))
            }
            return .ended(ExitStatus(rawValue: end.status) ?? .internalFault)
        }
        if left.isEmpty { composition.console.note("every account of the table is logged in") }
        return status
    }

    private static func object(_ text: String) throws(CommandFailure) -> JSON {
        do throws(JSONFault) {
            return try JSONParser.parse(Array(text.utf8))
        } catch {
            throw CommandFailure(.internalFault, "the login's result is no JSON")
        }
    }

    private func logins(_ table: String) throws(CommandFailure) -> [Login] {
        let rows = try AccountTable.read(table)
        let file = try composition.wholeJobFile()
        let accounts = try composition.accounts(of: file)
        var passwords =
            composition.arguments.has("password-stdin") ? try AccountLogins.readPasswords() : nil
        var logins: [Login] = []
        for row in rows {
            guard let account = accounts.first(where: { $0.id == row.id }) else {
                throw composition.noAccount(row.id.rawValue, in: accounts)
            }
            guard let email = row.login ?? account.login else {
                throw CommandFailure(
                    .faultyInput,
                    "\(table): account `\(row.id)` has no `login` here or in the job file")
            }
            let password = passwords?.removeValue(forKey: row.id)?.text
            guard passwords == nil || password != nil else {
                throw CommandFailure(
                    .faultyInput, "standard input has no password of account `\(row.id)`")
            }
            logins.append(
                Login(
                    view: file.view(of: account), id: row.id, email: email,
                    password: password))
        }
        if let line = passwords?.values.map(\.line).min() {
            throw CommandFailure(
                .faultyInput, "standard input:\(line): its account is not in \(table)")
        }
        return logins
    }

    /// Returns the passwords by their accounts, each with the number of its line.
    ///
    /// No message has a word of a line, because a line may be a password only.
    private static func readPasswords() throws(CommandFailure)
        -> [AccountID: (text: String, line: Int)]
    {
        var passwords: [AccountID: (text: String, line: Int)] = [:]
        var number = 0
        while let line = readLine() {
            number += 1
            guard !line.isEmpty else { continue }
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let id = AccountID(String(parts[0])),
                (1...SessionPassword.longest).contains(parts[1].utf8.count)
            else {
                throw CommandFailure(
                    .faultyInput,
                    "standard input:\(number): wanted an account id, a space and a password of at "
                        + "most \(SessionPassword.longest) bytes")
            }
            guard passwords.updateValue((String(parts[1]), number), forKey: id) == nil else {
                throw CommandFailure(
                    .faultyInput, "standard input:\(number): its account has a password already")
            }
        }
        return passwords
    }

    /// Whether the account has a session of this address that is not known to have ended.
    private func isLoggedIn(_ login: Login) throws(CommandFailure) -> Bool {
        guard let store = try composition.healthStore(login.view, as: "auth login") else {
            return false
        }
        return try usingHealthData { () throws(HealthStoreError) in
            guard let record = try store.sessions.record(), record.email == login.email else {
                return false
            }
            return try store.sessions.isUsable(at: composition.clock.now)
        }
    }
}

/// Makes one login after the other, as fast as the backend's limiter admits them.
///
/// The deployed backend takes 10 logins a minute from one address of the network. A refusal by its
/// limiter checks no password, so the same login is made again after the limiter's window.
struct PacedLogins {
    /// How a login ended.
    enum End {
        case ended(ExitStatus)
        /// The limiter admits the next login after this wait.
        case limited(Duration)
    }

    /// The windows in a row without any login after which the rest is left: 3. Others use the limit.
    static let patience = 3

    let count: Int
    let wait: (Duration) -> Void
    let say: (String) -> Void

    /// Makes the logins 0 to `count - 1`.
    ///
    /// - Returns: the status of all together.
    func run(_ login: (Int) throws(CommandFailure) -> End) throws(CommandFailure) -> ExitStatus {
        var status = ExitStatus.done
        var (number, inWindow, emptyWindows) = (0, 0, 0)
        while number < count {
            switch try login(number) {
            case .ended(let one):
                status = status.joined(with: one)
                // Whoever interrupts one login wants none of the others.
                guard ![.interrupted, .terminated].contains(one) else { return status }
                number += 1
                inWindow += 1
                emptyWindows = 0
            case .limited(let window):
                emptyWindows += inWindow == 0 ? 1 : 0
                guard emptyWindows <= PacedLogins.patience else {
                    say("the backend takes no further login (429); \(rest(from: number)) left")
                    return status.joined(with: .deferred)
                }
                let windows = inWindow == 0 ? nil : (count - number + inWindow - 1) / inWindow
                say(
                    "the backend takes no further login for \(window.text); \(rest(from: number)) left"
                        + (windows.map { ", which takes about \((window * $0).text)" } ?? ""))
                wait(window)
                inWindow = 0
            }
        }
        return status
    }

    private func rest(from number: Int) -> String {
        let left = count - number
        return "\(left) of \(count) accounts \(left == 1 ? "is" : "are")"
    }
}
