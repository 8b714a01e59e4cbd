import HTTPServing
import HealthStore
import Platform
@preconcurrency import Glibc
import JSON

/// Takes the REST pushes of the app Health Auto Export into a folder.
///
/// It has no key and does not open the health data: a job reads the folder later. The answer 200
/// means that the push is durably in the folder. The log has counts and reasons, never a value or a
/// token.
final class PushReceiver {
    /// The only path that is answered.
    static let path = "/health-auto-export"

    /// The most bytes of a refused push that are read, so that its sender sees the answer.
    fileprivate static let mostDiscarded = 128 << 20

    private let spool: PushSpool
    private let tokens: PushTokens
    private var rate: PushRate

    init(_ spool: PushSpool, _ tokens: PushTokens, _ clock: SystemClock) {
        self.spool = spool
        self.tokens = tokens
        rate = PushRate(clock)
    }

    func accept(_ request: RequestHead) -> Exchange {
        let refusal: Answer
        switch admission(of: request) {
        case .refused(let answer): refusal = answer
        case .token(let token, let name):
            do throws(PushSpool.Fault) {
                let length = request["Content-Length"].flatMap { Int64($0) }
                return Push(self, try spool.begin(length: length, of: name), of: token, name)
            } catch {
                // Who is put off comes again, and has had no push.
                rate.giveBack(name)
                refusal = answer(to: error)
            }
        }
        return Exchange(discarding: PushReceiver.mostDiscarded) { self.refuse(refusal) }
    }

    private enum Admission {
        /// The token that pushes, and its name.
        case token(String, name: String)
        case refused(Answer)
    }

    /// Judges the head of a request.
    private func admission(of request: RequestHead) -> Admission {
        guard request.path == PushReceiver.path else {
            return .refused(Answer(status: 404, text: "there is only \(PushReceiver.path)"))
        }
        guard request.method == "POST" else {
            return .refused(
                Answer(status: 405, text: "only POST is answered", headers: ["Allow": "POST"]))
        }
        let type = request["Content-Type"]?.prefix { $0 != ";" && $0 != " " }.lowercased()
        do throws(BackupError) {
            guard let token = token(request), let name = try tokens.name(of: token) else {
                return .refused(
                    Answer(
                        status: 401, text: "the token is wrong or missing",
                        headers: ["WWW-Authenticate": "Bearer"]))
            }
            if let wait = rate.wait(of: name) {
                return .refused(
                    Answer(
                        status: 429, text: "a token has at most \(PushRate.most) pushes a minute",
                        headers: ["Retry-After": "\(wait)"]))
            }
            guard type == "application/json" else {
                return .refused(
                    Answer(
                        status: 415, text: "only JSON is taken; set the export format to JSON"))
            }
            return .token(token, name: name)
        } catch {
            return .refused(unreadableTokens(error))
        }
    }

    private func unreadableTokens(_ error: BackupError) -> Answer {
        // The reason names a path, which concerns nobody on the network.
        complain("\(error)".forReport)
        return Answer(status: 500, text: "the tokens cannot be read; the log says why")
    }

    /// Returns the token of `Authorization: Bearer TOKEN` or `x-api-key: TOKEN`.
    private func token(_ request: RequestHead) -> String? {
        if let key = request["x-api-key"] { return key }
        let words = request["Authorization"]?.split(separator: " ") ?? []
        return words.count == 2 && words[0].lowercased() == "bearer" ? String(words[1]) : nil
    }

    fileprivate func answer(to fault: PushSpool.Fault) -> Answer {
        switch fault {
        case .tooLarge:
            Answer(
                status: 413,
                text: "a push has at most \(PushSpool.largestPush >> 20) MiB; turn on batching")
        case .busy:
            Answer(
                status: 503, text: "too many pushes at the same time",
                headers: ["Retry-After": "5"])
        case .full:
            Answer(
                status: 507, text: "there is no room; jobs have to read what waits",
                headers: ["Retry-After": "3600"])
        case .refused(let code):
            Answer(
                status: 500,
                text: "cannot store the push: \(SystemError(code: code).reason)")
        }
    }

    /// Writes a refusal to the log, and returns it with the end of its line.
    fileprivate func refuse(_ answer: Answer) -> Answer {
        complain("refused a push with \(answer.status): \(answer.text)")
        var answer = answer
        answer.text += "\n"
        return answer
    }

    /// Stores a push that has arrived, unless its token was revoked meanwhile.
    fileprivate func store(
        _ draft: PushSpool.Draft, of token: String
    ) throws(PushSpool.Fault) -> Answer {
        do throws(BackupError) {
            guard try tokens.name(of: token) != nil else {
                return refuse(
                    Answer(
                        status: 401, text: "the token was revoked",
                        headers: ["WWW-Authenticate": "Bearer"]))
            }
        } catch {
            return refuse(unreadableTokens(error))
        }
        let bytes = try draft.bytes()
        if let problem = PushReceiver.problem(of: bytes) {
            return refuse(Answer(status: 400, text: problem))
        }
        try draft.keep(bytes)
        complain("stored a push of \(bytes.count) bytes")
        return Answer(status: 200, text: "stored\n")
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
    private var refusal: Answer?
    private let token: String

    init(_ receiver: PushReceiver, _ draft: PushSpool.Draft, of token: String, _ name: String) {
        self.receiver = receiver
        self.draft = draft
        self.token = token
        super.init(discarding: PushReceiver.mostDiscarded) { Answer(status: 500, text: "") }
        person = name
    }

    override func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let draft else { return super.take(bytes) }
        do throws(PushSpool.Fault) {
            try draft.append(bytes)
        } catch {
            refusal = receiver.answer(to: error)
            self.draft = nil
        }
        return true
    }

    override func outcome() -> Outcome {
        do throws(PushSpool.Fault) {
            if let draft { return .answer(try receiver.store(draft, of: token)) }
        } catch {
            refusal = receiver.answer(to: error)
        }
        return refusal.map { .answer(receiver.refuse($0)) } ?? super.outcome()
    }
}

/// Bounds the pushes of each token.
private struct PushRate {
    /// The most pushes of a token in a minute, which begins with its first push.
    static let most = 600

    private struct Minute {
        var end: Duration
        var count = 0
    }

    private let clock: SystemClock
    private var minutes: [String: Minute] = [:]

    init(_ clock: SystemClock) { self.clock = clock }

    /// Counts a push; returns the seconds until one is taken again, or `nil` if this one is.
    mutating func wait(of name: String) -> Int64? {
        let now = clock.elapsed
        minutes = minutes.filter { $0.value.end > now }
        var minute = minutes[name] ?? Minute(end: now + .seconds(60))
        minute.count += 1
        minutes[name] = minute
        return minute.count > PushRate.most ? (minute.end - now).components.seconds + 1 : nil
    }

    /// Takes back the count of a push that there was no room for.
    mutating func giveBack(_ name: String) { minutes[name]?.count -= 1 }
}
