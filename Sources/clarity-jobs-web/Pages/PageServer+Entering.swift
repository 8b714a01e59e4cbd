import ClarityJobs
import ClarityScheduler
import ClaritySystem
import Synchronization
import WebAPI

// How a browser comes in: by a link that works once, or with the password.
extension PageServer {
    func enter(_ request: PageRequest) -> Exchange {
        if request.method == "POST" { return enterWithPassword(request) }
        guard !request.query.isEmpty else { return reply(page(200, nil)) }
        let values = Dictionary(request.query.map { ($0.name, $0.value) }) { one, _ in one }
        guard let token = values["token"], values.count == request.query.count,
            values.keys.allSatisfy(["token", "account"].contains)
        else { return reply(page(400, "This address is incomplete.")) }
        // Whoever only looks at the head of a link, such as a mail scanner, does not use it up.
        guard !request.isHead else { return reply(page(200, nil)) }
        do throws(BackupError) {
            guard let entrance = entrances.entrance(of: values["account"] ?? ""),
                try entrance.access.useLink(token, at: SystemClock().now)
            else { return reply(page(403, "This link was used before, or it has expired.")) }
            return redirect("/today", ["Set-Cookie": newCookie(entrance.viewer)])
        } catch {
            complain("\(error)".forReport)
            return refuse(503, "the link cannot be checked; the log says why")
        }
    }

    private func enterWithPassword(_ request: PageRequest) -> Exchange {
        guard entrances.mayTakePassword else { return refuse(403, "there is no password") }
        guard request.type == "application/x-www-form-urlencoded" else {
            return refuse(415, "the password is sent as application/x-www-form-urlencoded")
        }
        return body { [self] body in
            guard let password = FormBody.value(of: "password", in: body),
                let secret = Secret(passwordLine: Array(password.utf8))
            else { return .answer(page(400, "Type the password.").secured) }
            let account = FormBody.value(of: "account", in: body) ?? ""
            if let wait = attempts.withLock({ $0.take(at: .now) }) {
                let seconds = wait.milliseconds / 1000 + 1
                var answer = page(429, "Too many attempts. Try again in \(seconds) s.")
                answer.headers["Retry-After"] = "\(seconds)"
                return .answer(answer.secured)
            }
            return .work { [self] later in
                // Checking takes long and much memory, on purpose.
                let isTaken = commands.start {
                    later.give(self.answer(to: secret, of: account).secured)
                }
                if !isTaken { later.give(PageServer.busy.secured) }
            }
        }
    }

    private func answer(to password: Secret, of account: String) -> Answer {
        do throws(BackupError) {
            // Nobody learns by the words or the time which accounts there are.
            guard let entrance = entrances.entrance(of: account) else {
                PageAccess.spendTime(on: password)
                return wrongPassword
            }
            guard try entrance.access.accepts(password: password) else { return wrongPassword }
            return Answer(
                status: 303, text: "see /today\n",
                headers: ["Location": "/today", "Set-Cookie": newCookie(entrance.viewer)])
        } catch {
            complain("\(error)".forReport)
            return PageServer.fault(503, "the password cannot be checked; the log says why")
        }
    }

    private var wrongPassword: Answer {
        page(
            403,
            entrances.hasAccounts
                ? "The account or the password is wrong." : "The password is wrong.")
    }

    private func newCookie(_ viewer: APIViewer) -> String {
        let token = sessions.withLock { $0.begin(as: viewer, at: .now) }
        complain("a browser has come in" + (viewer.account.map { " as `\($0)`" } ?? ""))
        return "\(cookie)=\(token); HttpOnly; SameSite=Strict; Path=/; "
            + "Max-Age=\(PageSessions.life.milliseconds / 1000)"
            + (settings.isEncrypted ? "; Secure" : "")
    }

    /// Returns the page that a browser sees before it has come in. It has no script.
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
            autocomplete="current-password"></label> <button>Come in</button></p>
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
                <p>To come in from this machine, type <code>clarity-jobs serve link</code>\(
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
