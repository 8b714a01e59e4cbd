import HTTPServing
import HealthStore
import HealthModel
import ClarityScheduler
import Platform
import JSON
import WebAPI
import CWebPages

/// Serves the web pages and the API that they read.
///
/// It decides and sends nothing, and it has neither the key nor the data: commands of
/// `clarity-jobs` answer what has data and do what a person asks for (`CommandPool`).
final class PageServer: Sendable {
    /// What the command line says about the server.
    struct Settings: Sendable {
        var hosts: PageHosts
        var isReadOnly: Bool
        /// Whether browsers reach the pages by TLS.
        var isEncrypted: Bool
        /// Whether a proxy passes requests on.
        var isBehindProxy: Bool
    }

    /// A cookie belongs to a host, whatever its port: servers of two states keep theirs apart.
    let cookie: String
    let settings: Settings
    let entrances: PageEntrances
    let commands: CommandPool
    let sessions: OpenSessions
    let attempts: CountedAttempts
    let runs: TokenRuns
    private let events: ChangeEvents

    init(
        _ settings: Settings, port: UInt16, entrances: PageEntrances, sessions: OpenSessions,
        commands: CommandPool, events: ChangeEvents, runs: TokenRuns,
        attempts: CountedAttempts = CountedAttempts()
    ) {
        cookie = "clarity-pages-\(port)"
        (self.settings, self.entrances, self.sessions) = (settings, entrances, sessions)
        (self.commands, self.events, self.runs) = (commands, events, runs)
        self.attempts = attempts
    }

    func accept(_ head: RequestHead) -> Exchange {
        let request = PageRequest(head, cookie: cookie)
        let session = request.token.flatMap { sessions.session($0) }
        let exchange = exchange(for: request, head, session)
        exchange.person = session?.person
        if let session, sessions.takeUse(of: session) {
            let (browser, sessions) = (browser(head), sessions)
            // Beside the request; the next one is noted if there is no place now.
            _ = commands.work.start(for: .person(session.person)) {
                sessions.use(session, from: browser)
            }
        }
        return exchange
    }

    private func exchange(
        for request: PageRequest, _ head: RequestHead, _ session: OpenSessions.Session?
    ) -> Exchange {
        guard let host = request.host, settings.hosts.accepts(host: host) else {
            return refuse(403, "this is not an address of these pages")
        }
        if let refusal = refusal(of: request, host: host) { return refuse(refusal) }
        if request.path == "/enter" { return enter(request, head) }
        if request.path.hasPrefix(PageServer.runPath) { return run(request, head) }
        if request.path.hasPrefix("/api/v1/") { return api(request, session) }
        if PageFiles.isPage(request.path) {
            guard session != nil else { return redirect("/enter") }
            return file("index.html")
        }
        if request.path.hasPrefix("/assets/") {
            return file(String(request.path.dropFirst("/assets/".count)))
        }
        // Its script says that there is no such page, among the links to those that there are.
        if session != nil, var answer = PageFiles.answer("index.html") {
            answer.status = 404
            return reply(answer)
        }
        return refuse(404, "there is no such page")
    }

    /// Returns the answer to a request that has the wrong method or comes from another site.
    private func refusal(of request: PageRequest, host: String) -> Answer? {
        let isAction =
            request.path.hasPrefix("/api/v1/actions/") || request.path.hasPrefix(PageServer.runPath)
        let allowed =
            switch request.path {
            case "/enter": ["GET", "POST"]
            case "/api/v1/session": ["GET", "DELETE"]
            default: isAction ? ["POST"] : ["GET"]
            }
        guard allowed.contains(request.method) else {
            let shown = allowed.flatMap { $0 == "GET" ? ["GET", "HEAD"] : [$0] }
            return PageServer.fault(
                405, "only \(shown.joined(separator: ", ")) are answered here",
                headers: ["Allow": shown.joined(separator: ", ")])
        }
        guard request.method != "GET" else { return nil }
        let isForeign =
            request.origin.map { !settings.hosts.accepts(origin: $0, host: host) } ?? false
            || request.site.map { $0 != "same-origin" } ?? false
        return isForeign ? PageServer.fault(403, "another site made this request") : nil
    }

    private func file(_ name: String) -> Exchange {
        guard var answer = PageFiles.answer(name) else {
            return refuse(404, "there is no such file")
        }
        // A file has no data; a browser may keep it but has to ask whether it still holds.
        if name != "index.html" { answer.headers["Cache-Control"] = "no-cache" }
        return reply(answer)
    }

    // MARK: The API

    private func api(_ request: PageRequest, _ session: OpenSessions.Session?) -> Exchange {
        guard let session, let token = request.token else {
            return refuse(401, "nobody is logged in; `clarity-jobs serve link` makes a link")
        }
        let path = request.path.dropFirst("/api/v1/".count)
        if path.hasPrefix("actions/") {
            return action(path.dropFirst("actions/".count), request, session)
        }
        guard !path.isEmpty else { return refuse(404, "there is no such path") }
        if path == "events" {
            let sessions = sessions
            let stream = events.client(of: session.person) { sessions.session(token) == nil }
            guard let stream else {
                return refuse(503, "too many browsers listen", headers: ["Retry-After": "30"])
            }
            return reply(
                Answer(status: 200, type: "text/event-stream", content: .stream(stream)))
        }
        if path == "session" {
            return request.method == "DELETE"
                ? leave(request, session, token) : sessionAnswer(request, session)
        }
        var matching: (route: APIRoute, variable: String)?
        for route in APIRoute.all {
            // A path without a variable comes before one with it.
            guard let variable = route.match(path), matching == nil || variable.isEmpty else {
                continue
            }
            matching = (route, variable)
        }
        guard let (route, variable) = matching else { return refuse(404, "there is no such path") }
        guard session.viewer.maySee(route.reach) else { return refuse(beyond: route.reach) }
        let words: [String]
        do throws(APIFault) {
            words = try route.words(variable, request.query)
        } catch {
            return refuse(400, error.text)
        }
        let namesOne = route.namesOne(request.query)
        return run(words, session) { CommandAnswer.toQuery($0, namesOne: namesOne) }
    }

    /// Answers with what the pages need to know at first.
    private func sessionAnswer(_ request: PageRequest, _ session: OpenSessions.Session) -> Exchange
    {
        guard request.query.isEmpty else { return refuse(400, "`session` has no parameters") }
        let isReadOnly = settings.isReadOnly
        @Sendable func hasGoals(_ status: JSON?) -> Bool {
            // Data that has arrived has a goal.
            if case .array(let goals)? = status?["goals"] { !goals.isEmpty } else { false }
        }
        @Sendable func answer(_ status: JSON?) -> Answer {
            let object: JSON = [
                "csrf": .string(session.csrf), "session": .string(session.name),
                "read_only": .bool(isReadOnly),
                "zone": .text(status?["installation"]?["time_zone"]?.text),
                "backend": .bool(status?["session"] != nil),
                "health": .bool(status?["session"] != nil || hasGoals(status)),
                "version": .string(programVersion),
                "viewer": .string(session.viewer.name), "account": .text(session.viewer.account),
            ]
            return Answer(200, object)
        }
        // The accounts may have days in several zones.
        guard session.viewer != .caretaker else { return reply(answer(nil)) }
        return run(["status"], session) { answer(CommandAnswer.result(of: $0)) }
    }

    /// Ends the session and has the browser forget its cookie.
    private func leave(
        _ request: PageRequest, _ session: OpenSessions.Session, _ token: String
    ) -> Exchange {
        guard PageAccess.isSame(request.csrf ?? "", session.csrf) else {
            return refuse(403, "the header X-CSRF-Token is wrong or missing")
        }
        return working(for: .person(session.person)) { [self] in answer(toLeaving: token) }
    }

    private func answer(toLeaving token: String) -> Answer {
        do throws(BackupError) {
            try sessions.end(token)
            return Answer(200, ["message": "logged out"], headers: ["Set-Cookie": cookie(nil)])
        } catch {
            complain("\(error)".forReport)
            return PageServer.fault(503, "the session cannot be ended; the log says why")
        }
    }

    /// Returns the header that sets the cookie of a session, or takes it away.
    func cookie(_ token: String?) -> String {
        let life = token == nil ? 0 : PageSessions.life.milliseconds / 1000
        return "\(cookie)=\(token ?? ""); HttpOnly; SameSite=Strict; Path=/; Max-Age=\(life)"
            + (settings.isEncrypted ? "; Secure" : "")
    }

    private func refuse(beyond reach: APIReach) -> Exchange {
        refuse(
            403,
            reach == .accounts
                ? "only who looks after the accounts sees all of them"
                : "only the wearer of an account sees its values")
    }

    private func action(
        _ name: Substring, _ request: PageRequest, _ session: OpenSessions.Session
    ) -> Exchange {
        guard let action = APIAction.all.first(where: { $0.name == name }) else {
            return refuse(404, "there is no such action")
        }
        guard session.viewer.maySee(action.reach) else {
            return refuse(beyond: action.reach)
        }
        guard PageAccess.isSame(request.csrf ?? "", session.csrf) else {
            return refuse(403, "the header X-CSRF-Token is wrong or missing")
        }
        guard !settings.isReadOnly else { return refuse(403, "these pages only show") }
        guard request.type == "application/json" else {
            return refuse(415, "an action is sent as application/json")
        }
        return body { [self] body in
            let words: [String]
            do throws(APIFault) {
                words = try action.words(try CommandAnswer.fields(of: body))
            } catch {
                return .answer(PageServer.fault(400, error.text).secured)
            }
            return .work(work(words, session, CommandAnswer.toAction))
        }
    }

    // MARK: Commands

    private func run(
        _ words: [String], _ session: OpenSessions.Session,
        _ answer: @escaping @Sendable (CommandAnswer.End) -> Answer
    ) -> Exchange {
        Exchange(working: work(words, session, answer))
    }

    private func work(
        _ words: [String], _ session: OpenSessions.Session,
        _ answer: @escaping @Sendable (CommandAnswer.End) -> Answer
    ) -> (LaterAnswer) -> Void {
        let (commands, viewer) = (commands, session.viewer)
        return { later in
            let isTaken = commands.run(
                viewer.words + words, for: .person(session.person), in: session.name,
                viewer: viewer
            ) { later.give(answer($0).secured) }
            if !isTaken { later.give(PageServer.busy.secured) }
        }
    }

    /// Returns an exchange that something answers which blocks, when it is its turn.
    func working(
        for asker: Asker, _ answer: @escaping @Sendable () -> Answer
    ) -> Exchange {
        Exchange(working: { [self] later in work(for: asker, later, answer) })
    }

    /// Gives the answer of something that blocks, when it is its turn.
    func work(
        for asker: Asker, _ later: LaterAnswer, _ answer: @escaping @Sendable () -> Answer
    ) {
        let isTaken = commands.work.start(for: asker) { later.give(answer().secured) }
        if !isTaken { later.give(PageServer.busy.secured) }
    }

    static var busy: Answer {
        fault(503, "too many requests at the same time", headers: ["Retry-After": "2"])
    }

    // MARK: Answers

    /// Takes the body and handles it.
    func body(_ handle: @escaping ([UInt8]) -> Exchange.Outcome) -> Exchange {
        BodyExchange { body in
            guard let body else {
                return .answer(
                    PageServer.fault(413, "a request has at most \(BodyExchange.most) bytes")
                        .secured)
            }
            return handle(body)
        }
    }

    func redirect(_ path: String) -> Exchange {
        reply(Answer(status: 303, text: "see \(path)\n", headers: ["Location": path]))
    }

    func refuse(_ status: UInt32, _ text: String, headers: Answer.Headers = [:]) -> Exchange {
        refuse(PageServer.fault(status, text, headers: headers))
    }

    private func refuse(_ answer: Answer) -> Exchange {
        Exchange(discarding: 1 << 20) { answer.secured }
    }

    func reply(_ answer: Answer) -> Exchange { Exchange { answer.secured } }

    /// Returns an answer with one clear line about a fault.
    static func fault(
        _ status: UInt32, _ text: String, headers: Answer.Headers = [:]
    ) -> Answer {
        Answer(status, ["error": .string(text)], headers: headers)
    }
}

/// The files of the pages, which are part of the program.
enum PageFiles {
    /// The paths that the one HTML file answers; its script shows the page.
    private static let pages: Set<String> = [
        "/", "/today", "/explore", "/sleep", "/workouts", "/activity", "/trends", "/year", "/diary",
        "/ecgs", "/records", "/insights", "/accounts",
        "/jobs", "/data", "/sources", "/machine", "/access",
    ]

    /// Whether a path is that of a page.
    static func isPage(_ path: String) -> Bool {
        if pages.contains(path) { return true }
        // `/runs/42` or `/workouts/1795154400`
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 3 && parts[0].isEmpty && ["runs", "workouts"].contains(parts[1])
            && !parts[2].isEmpty && parts[2].utf8.count <= 18
            && parts[2].utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Returns the answer with a file; `nil` if there is none of this name.
    static func answer(_ name: String) -> Answer? {
        guard let file = cwebpages_find(name)?.pointee, let bytes = file.bytes else { return nil }
        return Answer(
            status: 200, type: type(of: name),
            content: .fixed(
                Answer.FixedBytes(start: UnsafeRawPointer(bytes), count: Int(file.size))))
    }

    private static func type(of name: String) -> String {
        switch name[(name.lastIndex(of: ".") ?? name.startIndex)...] {
        case ".html": "text/html; charset=utf-8"
        case ".css": "text/css; charset=utf-8"
        case ".js", ".mjs": "text/javascript; charset=utf-8"
        case ".svg": "image/svg+xml"
        case ".png": "image/png"
        case ".ico": "image/x-icon"
        case ".json": "application/json"
        case ".webmanifest": "application/manifest+json"
        case ".woff2": "font/woff2"
        default: "application/octet-stream"
        }
    }
}
