public import BackendContract
public import ClarityScheduler

extension APIError {
    /// The consequence of an error.
    package enum Course: Hashable, Sendable {
        /// The call tries again if that helps; otherwise the run retries, with its backoff.
        case retry
        /// The run retries, not before the wait that the backend needs.
        case snooze
        /// The error is permanent; the run fails.
        case fail
        /// The error lasts until somebody logs in; the run fails.
        case endSession
    }

    /// The consequences of an error, with their numbers.
    package struct Classification: Hashable, Sendable {
        package var course: Course
        /// How often a call is tried before it fails with this error; 1 if retrying at once is no
        /// use.
        package var tries = 1
        /// The wait that the backend asked for, or is known to need.
        var after: Duration?
        /// The category that decides the exit status.
        package var category: Failure.Category
        /// A lowercase fragment for people, without a final period.
        package var sentence: String

        /// Whether the run may succeed later.
        var isTransient: Bool { course == .retry || course == .snooze }
    }

    /// The consequences of this error; the single table for all errors.
    ///
    /// Network errors get 4 tries and server errors 3, as the contract's rules say. If the backend
    /// asks for a wait longer than `longestWaitInCall`, the call does not try again: the run waits
    /// instead, without holding a process.
    package var classification: Classification {
        switch self {
        case .unreachable(let error, let host):
            switch error {
            case .offline: network("there is no route to the backend at `\(host)`")
            case .nameNotResolved: network("cannot resolve the backend's host `\(host)`")
            case .connectTimeout: network("no connection to the backend at `\(host)` in time")
            default: network("cannot connect to the backend at `\(host)`")
            }
        case .interrupted: network("the connection to the backend broke off")
        case .timeout: network("the backend did not answer in time")
        case .transport(let error):
            switch error {
            case .stalled, .proxyRefused: network(error.description)
            default: later(.unreachable, error.description)
            }
        case .tls: later(.unreachable, "no trusted connection to the backend could be made (TLS)")
        case .notLoggedIn: ended("nobody is logged in; run `clarity-jobs auth login`")
        case .sessionEnded: ended("the session has ended; run `clarity-jobs auth login`")
        case .unauthorized:
            final(.credential, "the backend refused the e-mail address or the password")
        case .secondFactorRequired:
            final(.credential, "the account asks for a second factor, which a job cannot give")
        case .loginUnclear:
            final(
                .credential,
                "the backend refused the e-mail address or the password, or could not check them; "
                    + "it locks an account after a few refusals")
        case .emailNotVerified:
            final(
                .credential,
                "the account's e-mail address is not confirmed yet; run `clarity-jobs auth verify`")
        case .accountLocked(let span):
            snooze(
                .credential, span,
                "the account is locked for \(span.text) after too many refused logins")
        case .withoutSession(let error): error.classification
        case .renewalUnclear:
            later(
                .unreachable,
                "the backend did not renew the session, and does not say whether it has ended; if "
                    + "this goes on, run `clarity-jobs auth login`")
        case .renewalRefused(let status, let since):
            ended(
                "the backend has refused to renew the session since \(since) (\(status)): the session "
                    + "has ended, or the backend is out of order; run `clarity-jobs auth login`")
        case .loginsUsedUp(let instant):
            final(
                .credential,
                "a login was tried twice within 15 minutes; the next may be tried at \(instant)")
        case .tokenUnclear:
            later(
                .unreachable,
                "the backend refuses a session that it has just renewed (401), and may be out of "
                    + "order")
        case .signupClosed: final(.credential, "the backend takes no registrations")
        case .accountExists:
            final(.credential, "there is an account with this e-mail address already")
        case .noSuchUser:
            final(.credential, "the backend has no account with this e-mail address")
        case .passwordTooWeak(let rule):
            final(.credential, "the new password is too weak: it needs \(rule)")
        case .passwordRefused(let words):
            final(
                .credential,
                "the backend refused the new password" + (words.map { ": \($0)" } ?? ""))
        case .codeRefused: final(.credential, "the backend refused the code, or it has run out")
        case .forbidden: final(.credential, "the backend does not allow this to the account (403)")
        case .notFound: final(.work, "the backend does not know what was asked for (404)")
        case .conflict(let indices):
            final(.work, "the backend already has \(metrics(indices)) (409)")
        case .validation(let indices):
            final(.work, "the backend does not accept \(metrics(indices))")
        case .clockRefused:
            later(
                .configuration,
                "the backend does not accept `client_timestamp`, when an upload says that it was sent; "
                    + "check this machine's clock")
        case .requestTooLarge:
            final(.work, "the request is larger than the backend takes at once")
        case .rateLimited(let after):
            waiting(after, "the backend asks for fewer requests (429)", triesWithoutWish: 1)
        case .limitReached(let after):
            snooze(.unreachable, after, TransportError.limited(after: after).description)
        case .rejected(let status): final(.work, "the backend refused the request (\(status))")
        case .redirected(let status):
            final(
                .configuration,
                "the backend's URL leads elsewhere (\(status)), and a redirect is not followed")
        case .server(let status, let after):
            waiting(after, "the backend is out of order (\(status))", triesWithoutWish: 3)
        case .knownFault(let fault, _): later(.unreachable, fault.sentence)
        case .unavailable(let status):
            Classification(
                course: .retry, tries: 3, category: .unreachable,
                sentence: "what the backend keeps its data in is out of order (\(status))")
        case .blocked:
            snooze(
                .unreachable, APIError.firewallWindow,
                "something in front of the backend refuses the request (403)")
        case .gone: final(.configuration, "the backend has given up this call (410)")
        case .noSuchCall(let status):
            final(
                .configuration,
                "the backend has no such call (\(status)); check `backend.url` and "
                    + "`backend.dialect`")
        case .notOffered(let what): final(.configuration, "the backend does not offer \(what)")
        case .dialectUnknown:
            final(
                .configuration,
                "the backend does not show which dialect it speaks; set `backend.dialect`")
        case .dialectChanged:
            later(.work, "the backend speaks another dialect than before, which the next try uses")
        case .analysisFailed:
            final(.work, "the backend could not analyse the recording (500)")
        case .decoding(let part):
            final(.unreachable, "the backend's answer is not understood: \(part)")
        case .tooLarge: final(.unreachable, "the backend's answer is larger than is read")
        case .refused(let why): final(.configuration, why)
        case .store(let failure): final(failure.category, failure.reason)
        case .library(let code): later(.internalFault, "libcurl failed (\(code))")
        case .cancelled: later(.work, "stopped before it was done")
        }
    }

    /// The outcome that a worker returns for this error.
    public var outcome: Outcome {
        let classification = classification
        let failure = Failure(classification.category, classification.sentence)
        // Waiting for the own limit is no failure of the backend, and uses up no retry.
        if case .limitReached(let after) = self { return .snooze(after: after, failure) }
        return classification.isTransient
            ? .retry(after: classification.after, failure) : .failure(failure)
    }

    /// The longest wait within a call.
    static var longestWaitInCall: Duration { .seconds(10) }

    /// The span over which a firewall in front of a backend counts the requests of an address.
    static var firewallWindow: Duration { .seconds(300) }

    /// Returns how long a call waits before its next try; `nil` if it does not try again.
    ///
    /// The wait is what the backend asked for, else 2^(n-1) times `unit` after try `n` (from 1): 1
    /// s, 2 s and 4 s with the default unit.
    ///
    /// - Parameter isRepeatable: whether making the call twice does no harm. Otherwise a request
    ///   that may have arrived is not sent again.
    package func waitInCall(
        afterTries tries: Int, unit: Duration, isRepeatable: Bool = true
    ) -> Duration? {
        let classification = classification
        guard tries < classification.tries, isRepeatable || !mayHaveArrived else { return nil }
        return classification.after ?? unit * (1 << (tries - 1))
    }

    private func network(_ sentence: String) -> Classification {
        Classification(course: .retry, tries: 4, category: .unreachable, sentence: sentence)
    }

    private func later(_ category: Failure.Category, _ sentence: String) -> Classification {
        Classification(course: .retry, category: category, sentence: sentence)
    }

    private func snooze(
        _ category: Failure.Category, _ after: Duration, _ sentence: String
    ) -> Classification {
        Classification(course: .snooze, after: after, category: category, sentence: sentence)
    }

    private func final(_ category: Failure.Category, _ sentence: String) -> Classification {
        Classification(course: .fail, category: category, sentence: sentence)
    }

    private func ended(_ sentence: String) -> Classification {
        Classification(course: .endSession, category: .credential, sentence: sentence)
    }

    private func waiting(
        _ after: Duration?, _ sentence: String, triesWithoutWish: Int
    ) -> Classification {
        let isShort = after.map { $0 <= APIError.longestWaitInCall }
        return Classification(
            course: isShort == false ? .snooze : .retry,
            tries: isShort.map { $0 ? 3 : 1 } ?? triesWithoutWish, after: after,
            category: .unreachable, sentence: sentence)
    }

    private func metrics(_ indices: [Int]) -> String {
        switch indices.count {
        case 0: "what was sent"
        case 1: "1 of the metrics"
        default: "\(indices.count) of the metrics"
        }
    }

    /// The status of the backend's answer; `nil` if no answer came, or if the error does not keep
    /// it.
    package var answeredStatus: Int? {
        switch self {
        case .server(let status, _), .unavailable(let status), .rejected(let status),
            .noSuchCall(let status), .redirected(let status), .knownFault(_, let status):
            status
        case .analysisFailed: 500
        case .rateLimited: 429
        case .blocked, .forbidden: 403
        default: nil
        }
    }

    /// Whether the backend may have acted on the request although it did not report success.
    ///
    /// After such an error, repeating a call that is not idempotent could leave duplicates. A
    /// request that the backend certainly refused, or that never reached it, did not arrive.
    public var mayHaveArrived: Bool {
        switch self {
        case .interrupted, .timeout, .server, .decoding, .tooLarge, .library, .cancelled,
            .renewalUnclear, .analysisFailed, .unavailable, .knownFault:
            true
        case .transport(let error): error.mayHaveSent
        case .unreachable, .tls, .notLoggedIn, .unauthorized, .secondFactorRequired, .sessionEnded,
            .forbidden, .notFound, .conflict, .validation, .clockRefused, .requestTooLarge,
            .rateLimited, .limitReached, .rejected, .redirected, .refused, .store, .notOffered,
            .noSuchCall, .dialectUnknown, .dialectChanged, .gone, .blocked, .accountLocked,
            .loginUnclear, .emailNotVerified, .signupClosed, .accountExists, .noSuchUser,
            .passwordTooWeak, .passwordRefused, .codeRefused, .tokenUnclear, .renewalRefused,
            .loginsUsedUp, .withoutSession:
            false
        }
    }
}

extension TransportError {
    /// Whether the whole request may have been sent before this error.
    var mayHaveSent: Bool {
        switch self {
        case .stalled, .timeout, .reset, .truncated, .malformed, .badEncoding, .tooLarge,
            .headTooLarge, .cancelled, .library:
            true
        case .offline, .nameNotResolved, .couldNotConnect, .proxyRefused, .connectTimeout, .tls,
            .tlsVersion, .certificateNotTrusted, .certificateOutOfDate, .certificateForOtherHost,
            .pinMismatch, .authoritiesUnreadable, .limited, .limitsUnusable,
            .refused:
            false
        }
    }
}

extension Meaning {
    /// Whether the row applies to an answer.
    func fits(_ call: APICall, _ status: Int, _ report: FaultReport) -> Bool {
        guard status == self.status, calls?.contains(call) ?? true else { return false }
        return switch sign {
        case .any: true
        case .code(let code): report.code == code
        case .opening(let words): report.begins(with: words)
        case .plain(let text): report.plainText == text
        case .notJSON: !report.isJSON
        }
    }
}

extension Dialect {
    /// Returns the error that an answer to `call` reports; `nil` if the answer is a success.
    ///
    /// - Parameter now: the instant from which a date in `Retry-After` is measured.
    func error(in response: HTTPResponse, to call: APICall, now: Instant) -> APIError? {
        guard !(200..<300).contains(response.status) else { return nil }
        let report = FaultReport(response.body)
        if let meaning = meanings.first(where: { $0.fits(call, response.status, report) }) {
            return switch meaning.verdict {
            case .error(let error): error
            case .outage: .unavailable(status: response.status)
            case .refusal: .validation(indices: report.indices)
            }
        }
        let usual = APIError(response, report, now: now)
        switch usual {
        case .rejected(let status) where status != 405 && !provesNothingKept(call):
            return .unavailable(status: status)
        case .conflict where !provesNothingKept(call):
            return .unavailable(status: response.status)
        // The backend does not say how long this limit lasts.
        case .rateLimited(after: nil): return .rateLimited(after: routes[call]?.window)
        case .notFound where routes[call]?.mustExist == true:
            return .noSuchCall(status: response.status)
        case .rejected(status: 405): return .noSuchCall(status: 405)
        default: return usual
        }
    }

    private func provesNothingKept(_ call: APICall) -> Bool {
        refusalOfUploadIsCertain || ![.uploadMetrics, .uploadSamples].contains(call)
    }
}
