public import ClarityScheduler

/// Why a call to the backend has no result; free of URLs, tokens, bodies and health values.
public enum APIError: Error, Hashable, Sendable {
    /// The backend cannot be reached from here.
    case offline
    /// The connection ended before the whole answer had come.
    case interrupted
    /// There was no answer within the transport's limits.
    case timeout
    /// No trusted connection of TLS 1.3 could be made.
    case tls
    /// There is no answer for a reason that the transport knows better; carries that.
    case transport(TransportError)
    /// Nobody is logged in.
    case notLoggedIn
    /// The backend refused the e-mail address or password of a login, or the token of a call.
    case unauthorized
    /// A login takes a second factor, which a job cannot give.
    case secondFactorRequired
    /// The backend refused the session, and a renewed one.
    case sessionEnded
    /// The account may not do this.
    case forbidden
    /// The backend has nothing under this id.
    case notFound
    /// The backend has some of this already; carries the metrics that it named.
    case conflict(indices: [Int])
    /// The backend refused what was sent; carries the metrics at fault when it named them.
    case validation(indices: [Int])
    /// The request is larger than the backend takes at once.
    case requestTooLarge
    /// The backend wants fewer requests; `after` is its wish when it is a believable one.
    case rateLimited(after: Duration?)
    /// Another status of the 4xx.
    case rejected(status: Int)
    /// The answer sends the request elsewhere.
    case redirected(status: Int)
    /// A status of the 5xx; `after` is the backend's wish when it is a believable one.
    case server(status: Int, after: Duration?)
    /// The answer is not what the contract says; carries the part at fault, never its text.
    case decoding(String)
    /// The answer is larger than is read.
    case tooLarge
    /// The backend's dialect has no such call; carries the call.
    case notOffered(String)
    /// The request must not be sent as it is set up; carries why.
    case refused(String)
    /// The session cannot be read or kept.
    case store(Failure)
    /// libcurl failed; carries its code.
    case library(code: Int)
    /// The task was cancelled.
    case cancelled
}

extension APIError {
    /// What an error asks for.
    struct Ruling: Hashable, Sendable {
        /// How often a call is tried before it fails with this error; 1 for errors that stay.
        var tries: Int
        /// Whether the run may succeed later.
        var isTransient: Bool
        /// The wait that the backend asked for.
        var after: Duration?
        var category: Failure.Category
        /// What a person reads: a lowercase fragment without final period.
        var sentence: String
    }

    /// The one table of what follows from each error.
    ///
    /// Network errors get 4 tries and errors of the server 3, as the contract's rules say. A
    /// backend that asks for a wait longer than `longestWaitInCall` gets no second try in the call:
    /// the run waits instead, without holding a process.
    var ruling: Ruling {
        switch self {
        case .offline:
            network("the backend cannot be reached: no network, or no answer at its address")
        case .interrupted:
            network("the connection to the backend broke off")
        case .timeout:
            network("the backend did not answer in time")
        case .tls:
            later(.unreachable, "no trusted connection to the backend could be made (TLS)")
        case .transport(let error):
            switch error {
            case .connectTimeout, .stalled, .proxyRefused: network(error.description)
            default: later(.unreachable, error.description)
            }
        case .notLoggedIn:
            final(.credential, "nobody is logged in; run `clarity-jobs auth login`")
        case .unauthorized:
            final(.credential, "the backend refused the e-mail address or the password")
        case .secondFactorRequired:
            final(.credential, "the account asks for a second factor, which a job cannot give")
        case .sessionEnded:
            final(.credential, "the session has ended; run `clarity-jobs auth login`")
        case .forbidden:
            final(.credential, "the backend does not allow this to the account (403)")
        case .notFound:
            final(.work, "the backend does not know what was asked for (404)")
        case .conflict(let indices):
            final(.work, "the backend already has \(metrics(indices)) (409)")
        case .validation(let indices):
            final(.work, "the backend does not accept \(metrics(indices))")
        case .requestTooLarge:
            final(.work, "the request is larger than the backend takes at once")
        case .rateLimited(let after):
            waiting(after, "the backend asks for fewer requests (429)", triesWithoutWish: 1)
        case .rejected(let status):
            final(.work, "the backend refused the request (\(status))")
        case .redirected(let status):
            final(
                .configuration,
                "the backend's URL leads elsewhere (\(status)), and a redirect is not followed")
        case .server(let status, let after):
            waiting(after, "the backend is out of order (\(status))", triesWithoutWish: 3)
        case .decoding(let part):
            final(.unreachable, "the backend's answer is not understood: \(part)")
        case .tooLarge:
            final(.unreachable, "the backend's answer is larger than is read")
        case .notOffered(let call):
            final(.configuration, "the backend does not offer \(call)")
        case .refused(let why):
            final(.configuration, why)
        case .store(let failure):
            final(failure.category, failure.reason)
        case .library(let code):
            later(.internalFault, "libcurl failed (\(code))")
        case .cancelled:
            later(.work, "stopped before it was done")
        }
    }

    /// What a worker that meets this error returns.
    public var outcome: Outcome {
        let ruling = ruling
        let failure = Failure(ruling.category, ruling.sentence)
        return ruling.isTransient ? .retry(after: ruling.after, failure) : .failure(failure)
    }

    /// The longest wait that a call keeps to itself.
    static var longestWaitInCall: Duration { .seconds(10) }

    /// How long a call waits before its next try; `nil` when there is none.
    ///
    /// The wait after try `n` (from 1) is 2^(n-1) times `unit`, 1 s, 2 s and 4 s in standard, or
    /// what the backend asked for.
    func waitInCall(afterTries tries: Int, unit: Duration) -> Duration? {
        let ruling = ruling
        guard tries < ruling.tries else { return nil }
        return ruling.after ?? unit * (1 << (tries - 1))
    }

    private func network(_ sentence: String) -> Ruling {
        Ruling(tries: 4, isTransient: true, category: .unreachable, sentence: sentence)
    }

    private func later(_ category: Failure.Category, _ sentence: String) -> Ruling {
        Ruling(tries: 1, isTransient: true, category: category, sentence: sentence)
    }

    private func final(_ category: Failure.Category, _ sentence: String) -> Ruling {
        Ruling(tries: 1, isTransient: false, category: category, sentence: sentence)
    }

    private func waiting(
        _ after: Duration?, _ sentence: String, triesWithoutWish: Int
    ) -> Ruling {
        let tries = after.map { $0 <= APIError.longestWaitInCall ? 3 : 1 } ?? triesWithoutWish
        return Ruling(
            tries: tries, isTransient: true, after: after, category: .unreachable,
            sentence: sentence)
    }

    private func metrics(_ indices: [Int]) -> String {
        switch indices.count {
        case 0: "what was sent"
        case 1: "1 of the metrics"
        default: "\(indices.count) of the metrics"
        }
    }
}
