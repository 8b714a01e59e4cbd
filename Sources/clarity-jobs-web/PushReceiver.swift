import HTTPServing
import HealthStore
import Platform
@preconcurrency import Glibc
import JSON
import Synchronization

/// Takes the REST pushes of the app Health Auto Export into a folder.
///
/// It has no key and does not open the health data: a job reads the folder later. The answer 200
/// means that the push is durably in the folder. The log has counts and reasons, never a value or a
/// token.
///
/// The server's thread only takes what arrives; the rest is done beside it, for two pushes of
/// different tokens at the same time, so that no more than their bytes are in memory.
final class PushReceiver: Sendable {
    /// The only path that is answered.
    static let path = "/health-auto-export"
    /// The most pushes of a token in a minute.
    private static let mostInMinute = 600

    /// The most bytes of a refused push that are read, so that its sender sees the answer.
    fileprivate static let mostDiscarded = 128 << 20

    private let spool: PushSpool
    private let tokens: BearerTokens
    private let rate: Mutex<TokenRate>
    private let work = WorkPool(mostRunning: 2, mostOfPerson: 1)

    init(_ spool: PushSpool, _ tokens: BearerTokens, _ clock: SystemClock) {
        self.spool = spool
        self.tokens = tokens
        rate = Mutex(TokenRate(most: PushReceiver.mostInMinute, clock))
    }

    /// Why a push is not stored, and the answer to it.
    fileprivate struct Refusal: Error {
        var status: UInt32
        var text: String
        var headers: Answer.Headers = [:]

        /// Writes the refusal to the log, and returns the answer.
        func logged() -> Answer {
            complain("refused a push with \(status): \(text)")
            return Answer(status: status, text: text + "\n", headers: headers)
        }
    }

    func accept(_ request: RequestHead) -> Exchange {
        do throws(Refusal) {
            let (token, name) = try admitted(request)
            do throws(PushSpool.Fault) {
                let draft = try spool.begin(length: request.length, of: name)
                return Push(self, draft, of: token, name)
            } catch {
                throw refusal(error, of: name)
            }
        } catch {
            return Exchange(discarding: PushReceiver.mostDiscarded) { error.logged() }
        }
    }

    /// Returns the token that pushes, and its name, by the head of a request.
    private func admitted(
        _ request: RequestHead
    ) throws(Refusal) -> (token: String, name: String) {
        guard request.path == PushReceiver.path else {
            throw Refusal(status: 404, text: "there is only \(PushReceiver.path)")
        }
        guard request.method == "POST" else {
            throw Refusal(status: 405, text: "only POST is answered", headers: ["Allow": "POST"])
        }
        guard let token = request.bearerToken, let name = try name(of: token) else {
            throw Refusal(
                status: 401, text: "the token is wrong or missing",
                headers: ["WWW-Authenticate": "Bearer"])
        }
        if let wait = rate.withLock({ $0.wait(of: name) }) {
            throw Refusal(
                status: 429,
                text: "a token has at most \(PushReceiver.mostInMinute) pushes a minute",
                headers: ["Retry-After": "\(wait)"])
        }
        let type = request["Content-Type"]?.prefix { $0 != ";" && $0 != " " }.lowercased()
        guard type == "application/json" else {
            throw Refusal(
                status: 415, text: "only JSON is taken; set the export format to JSON")
        }
        return (token, name)
    }

    private func name(of token: String) throws(Refusal) -> String? {
        do throws(BackupError) {
            return try tokens.entry(of: token)?.name
        } catch {
            // The reason names a path, which concerns nobody on the network.
            complain("\(error)".forReport)
            throw Refusal(status: 500, text: "the tokens cannot be read; the log says why")
        }
    }

    /// Returns the refusal for a fault of the spool.
    ///
    /// - Parameter name: the token that is put off: it comes again, and has had no push.
    fileprivate func refusal(_ fault: PushSpool.Fault, of name: String? = nil) -> Refusal {
        if let name { rate.withLock { $0.giveBack(name) } }
        return switch fault {
        case .tooLarge:
            Refusal(
                status: 413,
                text: "a push has at most \(PushSpool.largestPush >> 20) MiB; turn on batching")
        case .busy:
            Refusal(
                status: 503, text: "too many pushes at the same time",
                headers: ["Retry-After": "5"])
        case .full:
            Refusal(
                status: 507, text: "there is no room; jobs have to read what waits",
                headers: ["Retry-After": "3600"])
        case .refused(let code):
            Refusal(
                status: 500, text: "cannot store the push: \(SystemError(code: code).reason)")
        }
    }

    /// Stores a push that has arrived, when it is its turn, and answers it.
    fileprivate func store(
        _ draft: PushSpool.Draft, of token: String, _ name: String, _ later: LaterAnswer
    ) {
        let isTaken = work.start(for: .person(name)) { [self] in
            let answer = answer(to: draft, of: token, name)
            draft.end()
            later.give(answer)
        }
        if !isTaken {
            draft.end()
            later.give(refusal(.busy, of: name).logged())
        }
    }

    private func answer(
        to draft: PushSpool.Draft, of token: String, _ name: String
    ) -> Answer {
        do throws(Refusal) {
            if let problem = try store(draft, of: token, name) {
                throw Refusal(status: 400, text: problem)
            }
            return Answer(status: 200, text: "stored\n")
        } catch {
            return error.logged()
        }
    }

    /// Stores a push that has arrived, unless its token was revoked meanwhile; returns the problem
    /// of one that no job could read.
    private func store(
        _ draft: PushSpool.Draft, of token: String, _ name: String
    ) throws(Refusal) -> String? {
        guard try self.name(of: token) != nil else {
            throw Refusal(
                status: 401, text: "the token was revoked",
                headers: ["WWW-Authenticate": "Bearer"])
        }
        do throws(PushSpool.Fault) {
            let bytes = try draft.bytes()
            if let problem = PushReceiver.problem(of: bytes) { return problem }
            try draft.keep(bytes)
            complain("stored a push of \(bytes.count) bytes")
            return nil
        } catch {
            throw refusal(error, of: error == .full ? name : nil)
        }
    }

    /// Returns why a body is none that Health Auto Export's reader takes; `nil` if it is one.
    ///
    /// Every value is parsed, so that the reader finds no fault in the file that stays for ever.
    /// The text never has anything of the body.
    private static func problem(of bytes: [UInt8]) -> String? {
        var parser = JSONParser(bytes)
        var hasData = false
        do throws(JSONFault) {
            try parser.enter("{")
            while let name = try parser.nextName() {
                if name == "data", parser.next == UInt8(ascii: "{") { hasData = true }
                try check(&parser)
            }
            try parser.end()
        } catch {
            return "the body is no JSON at byte \(error.offset): \(error.reason)"
        }
        return hasData ? nil : "the body has no object `data`"
    }

    private static func check(_ parser: inout JSONParser) throws(JSONFault) {
        switch parser.next {
        case UInt8(ascii: "{"):
            try parser.enter("{")
            while try parser.nextName() != nil { try check(&parser) }
        case UInt8(ascii: "["):
            try parser.enter("[")
            while try parser.nextElement() { try check(&parser) }
        default: _ = try parser.value()
        }
    }
}

/// A push that arrives.
private final class Push: Exchange {
    private let receiver: PushReceiver
    /// What has arrived; `nil` once the push is refused, which removes it.
    private var draft: PushSpool.Draft?
    private var refusal: PushReceiver.Refusal?
    private let token: String

    init(_ receiver: PushReceiver, _ draft: PushSpool.Draft, of token: String, _ name: String) {
        self.receiver = receiver
        self.draft = draft
        self.token = token
        super.init(discarding: PushReceiver.mostDiscarded) { Answer(status: 500, text: "") }
        person = name
    }

    override func refusal(ofLength bytes: Int64) -> Answer? { nil }

    override func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let draft else { return super.take(bytes) }
        do throws(PushSpool.Fault) {
            try draft.append(bytes)
        } catch {
            refusal = receiver.refusal(error)
            self.draft = nil
        }
        return true
    }

    override func outcome() -> Outcome {
        guard let draft else {
            return refusal.map { .answer($0.logged()) } ?? super.outcome()
        }
        // The work has it from now on.
        self.draft = nil
        return .work { [receiver, token, person] later in
            receiver.store(draft, of: token, person ?? "", later)
        }
    }
}
