import HTTPServing
import HealthStore
import HealthModel
import ClarityScheduler
import Platform
import WebAPI
import Synchronization

// How a browser logs in: by a link that works once, or with the password.
extension PageServer {
    func enter(_ request: PageRequest, _ head: RequestHead) -> Exchange {
        if request.method == "POST" { return enterWithPassword(request, head) }
        guard !request.query.isEmpty else { return reply(page(200, nil)) }
        let values = Dictionary(request.query.map { ($0.name, $0.value) }) { one, _ in one }
        guard let token = values["token"], values.count == request.query.count,
            values.keys.allSatisfy(["token", "account"].contains)
        else { return reply(page(400, "This address is incomplete.")) }
        // Whoever only looks at the head of a link, such as a mail scanner, does not use it up.
        guard !request.isHead else { return reply(page(200, nil)) }
        let account = values["account"] ?? ""
        do throws(BackupError) {
            // A wrong link is answered without a look at the account that it names, and a right one
            // however many wrong ones there were.
            guard let access = entrances.access(of: account),
                try access.hasLink(token, at: SystemClock().now)
            else {
                return reply(wrongLink(account, from: peer(head)))
            }
            let browser = browser(head)
            return working(for: .person(account)) { [self] in
                answer(toLink: token, access, account, from: browser)
            }
        } catch {
            complain("\(error)".forReport)
            return refuse(503, "the link cannot be checked; the log says why")
        }
    }

    private func answer(
        toLink token: String, _ access: PageAccess, _ account: String,
        from browser: PageSessions.Browser
    ) -> Answer {
        do throws(BackupError) {
            let viewer = entrances.viewer(of: account)
            guard
                let session = try access.enter(
                    link: token, as: viewer.name, from: browser, at: SystemClock().now),
                let answer = answer(toEntering: session)
            else { return page(403, PageServer.usedLink) }
            return answer
        } catch {
            complain("\(error)".forReport)
            return PageServer.fault(503, "the link cannot be checked; the log says why")
        }
    }

    private static var usedLink: String { "This link was used before, or it has expired." }

    private func wrongLink(_ account: String, from peer: String) -> Answer {
        let wait = attempts.withLock { $0.take(peer, account, at: .now) }
        return wait.map(tooMany) ?? page(403, PageServer.usedLink)
    }

    /// Returns where a request comes from, as far as wrong attempts are counted by it.
    func peer(_ head: RequestHead) -> String {
        PagePeer.name(
            head.peer, user: head.peerUser,
            forwarded: settings.isBehindProxy ? head["X-Forwarded-For"] : nil)
    }

    /// Returns where a request comes from, as a person recognises a session by it.
    func browser(_ head: RequestHead) -> PageSessions.Browser {
        let forwarded = settings.isBehindProxy ? head["X-Forwarded-For"] : nil
        let last = forwarded?.split(separator: ",").last.map { String($0) }
        return PageSessions.Browser(
            address: last ?? head.peer.hostText, userAgent: head["User-Agent"])
    }

    private func enterWithPassword(_ request: PageRequest, _ head: RequestHead) -> Exchange {
        guard entrances.mayTakePassword else { return refuse(403, "there is no password") }
        guard request.type == "application/x-www-form-urlencoded" else {
            return refuse(415, "the password is sent as application/x-www-form-urlencoded")
        }
        let (peer, browser) = (peer(head), browser(head))
        return body { [self] body in
            guard let password = FormBody.value(of: "password", in: body),
                let secret = Secret(passwordLine: Array(password.utf8))
            else { return .answer(page(400, "Type the password.").secured) }
            let account = FormBody.value(of: "account", in: body) ?? ""
            return .work { [self] later in
                work(for: .stranger(peer), later) { [self] in
                    answer(to: secret, of: account, from: peer, browser)
                }
            }
        }
    }

    private func answer(
        to password: Secret, of account: String, from peer: String,
        _ browser: PageSessions.Browser
    ) -> Answer {
        if let wait = attempts.withLock({ $0.take(peer, account, at: .now) }) {
            return tooMany(wait)
        }
        do throws(BackupError) {
            // Checking takes long and much memory, on purpose. Nobody learns by the words or the
            // time which accounts there are.
            guard let access = entrances.access(of: account) else {
                PageAccess.spendTime(on: password)
                return wrongPassword
            }
            let viewer = entrances.viewer(of: account)
            guard
                let session = try access.enter(
                    password: password, as: viewer.name, from: browser, at: SystemClock().now),
                let answer = answer(toEntering: session)
            else { return wrongPassword }
            attempts.withLock { $0.giveBack(peer, account) }
            return answer
        } catch {
            complain("\(error)".forReport)
            return PageServer.fault(503, "the password cannot be checked; the log says why")
        }
    }

    private func tooMany(_ wait: Duration) -> Answer {
        let seconds = wait.milliseconds / 1000 + 1
        var answer = page(429, "Too many attempts. Try again in \(seconds) s.")
        answer.headers["Retry-After"] = "\(seconds)"
        return answer
    }

    private var wrongPassword: Answer {
        page(
            403,
            entrances.hasAccounts
                ? "The account or the password is wrong." : "The password is wrong.")
    }

    /// Returns the answer with the cookie of a new session; `nil` if its account is gone, with which
    /// the session has ended.
    private func answer(toEntering token: String) -> Answer? {
        guard let session = sessions.session(token) else { return nil }
        complain("a browser logged in" + (session.viewer.account.map { " as `\($0)`" } ?? ""))
        return Answer(
            status: 303, text: "see /today\n",
            headers: ["Location": "/today", "Set-Cookie": cookie(token)])
    }

    /// Returns the page that a browser sees before it is logged in. It has no script.
    private func page(_ status: UInt32, _ problem: String?) -> Answer {
        let hasAccounts = entrances.hasAccounts
        let account = """
            <p><label>Account <input name="account" autocomplete="username" autofocus
            pattern="[a-z0-9_\\-]{1,64}"></label></p>
            <p>Leave it empty to see the states of all accounts.</p>
            """
        let form = """
            <form method="post" action="/enter">
            \(hasAccounts ? account : "")
            <p><label>Password <input type="password" name="password" required
            \(hasAccounts ? "" : "autofocus")
            autocomplete="current-password"></label> <button>Log in</button></p>
            </form>
            """
        return Answer(
            status: status, type: "text/html; charset=utf-8",
            text: """
                <!doctype html>
                <html lang="en">
                <meta charset="utf-8">
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <meta name="color-scheme" content="light dark">
                <title>clarity-jobs</title>
                <link rel="stylesheet" href="/assets/style.css">
                <main>
                <h1>clarity-jobs</h1>
                \(problem.map { "<p role=\"alert\">\($0)</p>" } ?? "")
                \(entrances.mayTakePassword ? form : "")
                <p>To log in from this machine, type <code>clarity-jobs serve link</code>\(
                    hasAccounts ? ", for an account with <code>--account ID</code>," : "") in a
                terminal and open the address that it shows.</p>
                </main>
                </html>

                """)
    }
}

/// The body of an HTML form.
enum FormBody {
    /// Returns the decoded value of a field; `nil` if the body has no such field or is no text.
    static func value(of name: String, in body: [UInt8]) -> String? {
        for pair in body.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0].elementsEqual(name.utf8) else { continue }
            var bytes: [UInt8] = []
            var rest = parts[1]
            while let byte = rest.popFirst() {
                switch byte {
                case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
                case UInt8(ascii: "%"):
                    guard rest.count >= 2,
                        let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
                    else { return nil }
                    rest = rest.dropFirst(2)
                    bytes.append(code)
                default: bytes.append(byte)
                }
            }
            return String(validating: bytes, as: UTF8.self)
        }
        return nil
    }
}

/// The attempts to log in that were wrong, of the last minute.
///
/// They count by where they come from and by the account that they name, so that nobody locks
/// others out. More of them from everywhere would take this machine's time.
struct PasswordAttempts {
    /// How many there may be within `span`: of one peer for one account, for one account, of one
    /// peer, and in all.
    static let most = (ofBoth: 5, ofAccount: 30, ofPeer: 20, inAll: 600)
    static let span = Duration.seconds(60)

    private struct Attempt {
        var peer: String
        var account: String
        var time: ContinuousClock.Instant
    }

    private var attempts: [Attempt] = []

    /// Counts an attempt and returns `nil`, or returns how long to wait until there may be one.
    mutating func take(
        _ peer: String, _ account: String, at now: ContinuousClock.Instant
    ) -> Duration? {
        // Somebody may name an account of any length.
        let account = account.prefix(bytes: 64)
        attempts.removeAll { now - $0.time >= PasswordAttempts.span }
        let most = PasswordAttempts.most
        let waits = [
            wait(most.ofBoth, at: now) { $0.peer == peer && $0.account == account },
            wait(most.ofAccount, at: now) { $0.account == account },
            wait(most.ofPeer, at: now) { $0.peer == peer },
            wait(most.inAll, at: now) { _ in true },
        ]
        if let longest = waits.compactMap(\.self).max() { return longest }
        attempts.append(Attempt(peer: peer, account: account, time: now))
        return nil
    }

    /// Takes back the latest attempt of a peer for an account, which was right.
    mutating func giveBack(_ peer: String, _ account: String) {
        let last = attempts.lastIndex { $0.peer == peer && $0.account == account }
        if let last { attempts.remove(at: last) }
    }

    /// Returns how long to wait until fewer than `most` attempts are such ones; `nil` if they are.
    private func wait(
        _ most: Int, at now: ContinuousClock.Instant, _ isCounted: (Attempt) -> Bool
    ) -> Duration? {
        let counted = attempts.filter(isCounted)
        guard counted.count >= most else { return nil }
        return PasswordAttempts.span - (now - counted[counted.count - most].time)
    }
}

/// The wrong attempts at all addresses of the pages.
final class CountedAttempts: Sendable {
    private let attempts = Mutex(PasswordAttempts())

    func withLock<Result: Sendable>(_ body: (inout PasswordAttempts) -> Result) -> Result {
        attempts.withLock { body(&$0) }
    }
}

/// Where a request comes from, as far as wrong passwords are counted by it.
enum PagePeer {
    /// Returns an address, on this machine with the user, and behind a proxy with the address that
    /// the proxy names.
    ///
    /// - Parameters:
    ///   - user: the user of this machine who made the connection, if that is known.
    ///   - forwarded: the header `X-Forwarded-For`, whose last part the proxy has written; `nil`
    ///     without a proxy.
    static func name(_ peer: ListenAddress, user: Int?, forwarded: String?) -> String {
        guard peer.isLoopback else { return peer.hostText }
        let user = user.map { "user \($0)" } ?? peer.hostText
        guard let last = forwarded?.split(separator: ",").last else { return user }
        return "\(user) for \(last.filter { $0 != " " }.prefix(64))"
    }
}
