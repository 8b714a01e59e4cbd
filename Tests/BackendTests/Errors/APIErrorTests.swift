@testable import Backend
@testable import BackendContract

import ClarityScheduler
import Testing

struct APIErrorTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let error: APIError
        let course: APIError.Course
        let tries: Int
        let after: Duration?
        /// The category, which decides the exit status.
        let category: Failure.Category
        let sentence: String

        init(
            _ error: APIError, _ course: APIError.Course, tries: Int = 1, after: Duration? = nil,
            _ category: Failure.Category, _ sentence: String
        ) {
            self.error = error
            self.course = course
            self.tries = tries
            self.after = after
            self.category = category
            self.sentence = sentence
        }

        var testDescription: String { "\(error)" }
    }

    static let rows = connectionRows + accountRows + answerRows

    static let connectionRows = [
        Row(
            .unreachable(.offline, host: "clarity.example"), .retry, tries: 4, .unreachable,
            "there is no route to the backend at `clarity.example`"),
        Row(
            .unreachable(.nameNotResolved, host: "clarity.exmaple"), .retry, tries: 4,
            .unreachable, "cannot resolve the backend's host `clarity.exmaple`"),
        Row(
            .unreachable(.couldNotConnect, host: "[::1]:9"), .retry, tries: 4, .unreachable,
            "cannot connect to the backend at `[::1]:9`"),
        Row(
            .unreachable(.connectTimeout, host: "10.0.0.1"), .retry, tries: 4, .unreachable,
            "no connection to the backend at `10.0.0.1` in time"),
        Row(
            .interrupted, .retry, tries: 4, .unreachable,
            "the connection to the backend broke off"),
        Row(
            .timeout, .retry, tries: 4, .unreachable,
            "the backend did not answer in time"),
        Row(
            .tls, .retry, .unreachable,
            "no trusted connection to the backend could be made (TLS)"),
        Row(
            .transport(.stalled), .retry, tries: 4, .unreachable,
            "the connection to the backend stood still for too long"),
        Row(
            .transport(.proxyRefused(status: 407)), .retry, tries: 4, .unreachable,
            "the proxy makes no way to the backend (407)"),
        Row(
            .transport(.pinMismatch), .retry, .unreachable,
            "the backend's key is none of `backend.pins`"),
    ]

    static let accountRows = [
        Row(
            .notLoggedIn, .endSession, .credential,
            "nobody is logged in; run `clarity-jobs auth login`"),
        Row(
            .sessionEnded, .endSession, .credential,
            "the session has ended; run `clarity-jobs auth login`"),
        Row(
            .unauthorized, .fail, .credential,
            "the backend refused the e-mail address or the password"),
        Row(
            .secondFactorRequired, .fail, .credential,
            "the account asks for a second factor, which a job cannot give"),
        Row(
            .loginUnclear, .fail, .credential,
            "the backend refused the e-mail address or the password, or could "
                + "not check them; it locks an account after a few refusals"),
        Row(
            .emailNotVerified, .fail, .credential,
            "the account's e-mail address is not confirmed yet; run `clarity-jobs auth verify`"),
        Row(
            .accountLocked(for: .seconds(900)), .snooze, after: .seconds(900), .credential,
            "the account is locked for 15m after too many refused logins"),
        Row(
            .renewalUnclear, .retry, .unreachable,
            "the backend did not renew the session, and does not say whether "
                + "it has ended; if this goes on, run `clarity-jobs auth login`"),
        Row(
            .renewalRefused(status: 500, since: morning), .endSession, .credential,
            "the backend has refused to renew the session since 2026-11-20T06:00:00Z (500): the "
                + "session has ended, or the backend is out of order; run `clarity-jobs auth login`"
        ),
        Row(
            .loginsUsedUp(until: morning), .fail, .credential,
            "a login was tried twice within 15 minutes; the next may be tried "
                + "at 2026-11-20T06:00:00Z"),
        Row(
            .tokenUnclear, .retry, .unreachable,
            "the backend refuses a session that it has just renewed (401), and "
                + "may be out of order"),
        Row(
            .signupClosed, .fail, .credential,
            "the backend takes no registrations"),
        Row(
            .accountExists, .fail, .credential,
            "there is an account with this e-mail address already"),
        Row(
            .noSuchUser, .fail, .credential,
            "the backend has no account with this e-mail address"),
        Row(
            .passwordTooWeak("8 characters or more"), .fail, .credential,
            "the new password is too weak: it needs 8 characters or more"),
        Row(
            .passwordRefused(nil), .fail, .credential, "the backend refused the new password"),
        Row(
            .passwordRefused("no digit"), .fail, .credential,
            "the backend refused the new password: no digit"),
        Row(
            .codeRefused, .fail, .credential,
            "the backend refused the code, or it has run out"),
        Row(
            .forbidden, .fail, .credential,
            "the backend does not allow this to the account (403)"),
        Row(
            .withoutSession(.sessionEnded), .endSession, .credential,
            "the session has ended; run `clarity-jobs auth login`"),
    ]

    static let answerRows = [
        Row(
            .notFound, .fail, .work,
            "the backend does not know what was asked for (404)"),
        Row(
            .conflict(indices: []), .fail, .work,
            "the backend already has what was sent (409)"),
        Row(
            .conflict(indices: [4]), .fail, .work,
            "the backend already has 1 of the metrics (409)"),
        Row(
            .validation(indices: []), .fail, .work,
            "the backend does not accept what was sent"),
        Row(
            .validation(indices: [1, 7]), .fail, .work,
            "the backend does not accept 2 of the metrics"),
        Row(
            .clockRefused, .retry, .configuration,
            "the backend does not accept `client_timestamp`, when an upload says that it was sent; "
                + "check this machine's clock"),
        Row(
            .requestTooLarge, .fail, .work,
            "the request is larger than the backend takes at once"),
        Row(
            .rateLimited(after: nil), .retry, .unreachable,
            "the backend asks for fewer requests (429)"),
        Row(
            .rateLimited(after: .seconds(10)), .retry, tries: 3, after: .seconds(10), .unreachable,
            "the backend asks for fewer requests (429)"),
        Row(
            .rateLimited(after: .seconds(11)), .snooze, after: .seconds(11), .unreachable,
            "the backend asks for fewer requests (429)"),
        Row(
            .rejected(status: 408), .fail, .work,
            "the backend refused the request (408)"),
        Row(
            .redirected(status: 307), .fail, .configuration,
            "the backend's URL leads elsewhere (307), and a redirect is not "
                + "followed"),
        Row(
            .server(status: 500, after: nil), .retry, tries: 3, .unreachable,
            "the backend is out of order (500)"),
        Row(
            .server(status: 503, after: .seconds(3)), .retry, tries: 3, after: .seconds(3),
            .unreachable,
            "the backend is out of order (503)"),
        Row(
            .server(status: 503, after: .seconds(120)), .snooze, after: .seconds(120), .unreachable,
            "the backend is out of order (503)"),
        Row(
            .knownFault(KnownFault(subject: "rivers", words: "it has none (500)"), status: 500),
            .retry, .unreachable,
            "a known fault of the backend, nothing for you to mend: it has none (500)"),
        Row(
            .unavailable(status: 400), .retry, tries: 3, .unreachable,
            "what the backend keeps its data in is out of order (400)"),
        Row(
            .blocked, .snooze, after: .seconds(300), .unreachable,
            "something in front of the backend refuses the request (403)"),
        Row(
            .gone, .fail, .configuration,
            "the backend has given up this call (410)"),
        Row(
            .noSuchCall(status: 405), .fail, .configuration,
            "the backend has no such call (405); check `backend.url` and "
                + "`backend.dialect`"),
        Row(
            .notOffered("the call `account change`"), .fail, .configuration,
            "the backend does not offer the call `account change`"),
        Row(
            .dialectUnknown, .fail, .configuration,
            "the backend does not show which dialect it speaks; set "
                + "`backend.dialect`"),
        Row(
            .dialectChanged, .retry, .work,
            "the backend speaks another dialect than before, which the next "
                + "try uses"),
        Row(
            .analysisFailed, .fail, .work,
            "the backend could not analyse the recording (500)"),
        Row(
            .decoding("login: `tokens` is missing"), .fail, .unreachable,
            "the backend's answer is not understood: login: `tokens` is missing"),
        Row(
            .tooLarge, .fail, .unreachable,
            "the backend's answer is larger than is read"),
        Row(
            .refused("plain http is not it"), .fail, .configuration,
            "plain http is not it"),
        Row(
            .store(Failure(.disk, "disk is full")), .fail, .disk,
            "disk is full"),
        Row(
            .library(code: 27), .retry, .internalFault,
            "libcurl failed (27)"),
        Row(
            .cancelled, .retry, .work,
            "stopped before it was done"),
    ]

    @Test(arguments: rows)
    func `each error has its course, its tries and its outcome`(row: Row) {
        let failure = Failure(row.category, row.sentence)
        let isFinal = row.course == .fail || row.course == .endSession

        #expect(row.error.classification.course == row.course)
        #expect(row.error.classification.tries == row.tries)
        #expect(
            row.error.outcome == (isFinal ? .failure(failure) : .retry(after: row.after, failure)))
    }

    @Test func `every error is in the table`() {
        let names = APIErrorTests.rows.map { "\($0.error)".prefix { $0 != "(" } }

        // All but `limitReached`, which is the only one with an outcome of another kind.
        #expect(Set(names).count == 48)
    }

    static let transportRows: [(TransportError, APIError)] = [
        (.offline, .unreachable(.offline, host: "h")),
        (.nameNotResolved, .unreachable(.nameNotResolved, host: "h")),
        (.couldNotConnect, .unreachable(.couldNotConnect, host: "h")),
        (.timeout, .timeout), (.reset, .interrupted), (.truncated, .interrupted), (.tls, .tls),
        (.connectTimeout, .unreachable(.connectTimeout, host: "h")),
        (.stalled, .transport(.stalled)),
        (.proxyRefused(status: 407), .transport(.proxyRefused(status: 407))),
        (.tlsVersion, .transport(.tlsVersion)),
        (.certificateNotTrusted, .transport(.certificateNotTrusted)),
        (.certificateOutOfDate, .transport(.certificateOutOfDate)),
        (.certificateForOtherHost, .transport(.certificateForOtherHost)),
        (.pinMismatch, .transport(.pinMismatch)),
        (
            .authoritiesUnreadable,
            .refused("the certificates of `backend.ca_bundle` cannot be read")
        ),
        (.limited(after: .seconds(3)), .limitReached(after: .seconds(3))),
        (.limitsUnusable(Failure(.disk, "why")), .store(Failure(.disk, "why"))),
        (.badEncoding, .decoding("it is not compressed as it says")),
        (.headTooLarge(limit: 5), .tooLarge), (.malformed, .decoding("it is no HTTP")),
        (.tooLarge(limit: 5), .tooLarge),
        (.cancelled, .cancelled), (.refused("why"), .refused("why")),
        (.library(code: 27), .library(code: 27)),
    ]

    @Test(arguments: transportRows)
    func `each fault of the transport has its error`(fault: TransportError, error: APIError) {
        #expect(APIError(fault, host: "h") == error)
    }

    static let statusRows: [(Int, APIError?)] = [
        (200, nil), (201, nil), (202, nil), (204, nil), (301, .redirected(status: 301)),
        (307, .redirected(status: 307)), (400, .rejected(status: 400)), (401, .unauthorized),
        (403, .forbidden), (404, .notFound), (405, .rejected(status: 405)),
        (408, .rejected(status: 408)), (409, .conflict(indices: [])), (410, .gone),
        (413, .requestTooLarge),
        (422, .validation(indices: [])), (429, .rateLimited(after: nil)),
        (500, .server(status: 500, after: nil)), (599, .server(status: 599, after: nil)),
    ]

    @Test(arguments: statusRows)
    func `each status has its error`(status: Int, error: APIError?) {
        #expect(APIError(HTTPResponse(status: status), now: morning) == error)
    }

    static let namedRows: [(Int, String, APIError)] = [
        (422, #"{"field":"metrics[3].steps","code":"out_of_range"}"#, .validation(indices: [3])),
        (400, #"{"field":"metrics[3].steps"}"#, .validation(indices: [3])),
        (422, #"{"field":"client_timestamp"}"#, .clockRefused),
        (422, #"{"loc":["body","client_timestamp"],"type":"datetime_past"}"#, .clockRefused),
        // The metrics that are named too are at fault, whatever the clock says.
        (
            422, #"{"loc":["body","client_timestamp"]},{"field":"metrics[2].steps"}"#,
            .validation(indices: [2])
        ),
        (422, #"{"field":"client_timestamp.metrics[2]"}"#, .validation(indices: [])),
        (
            422, #"{"field":"metrics[3].metric_id","code":"duplicate_metric_id"}"#,
            .conflict(indices: [3])
        ),
        (400, #"{"field":"metrics[3].metric_id","code":"DUPLICATE"}"#, .conflict(indices: [3])),
        (409, #"{"field":"metrics[3]"}"#, .conflict(indices: [3])),
        (409, #"{"field":"metrics[3]","code":"already_exists"}"#, .conflict(indices: [3])),
        (
            409,
            #"{"field":"metrics[3]","code":"duplicate"},{"field":"metrics[5]","code":"too_high"}"#,
            .validation(indices: [5])
        ),
    ]

    @Test(arguments: namedRows)
    func `a metric that the backend has is told from one that it refuses`(
        status: Int, errors: String, error: APIError
    ) {
        let body = Array("{\"errors\":[\(errors)]}".utf8)

        #expect(APIError(HTTPResponse(status: status, body: body), now: morning) == error)
    }

    @Test func `a wait doubles with each try until there are no more`() {
        let waits = (1...4).map {
            APIError.timeout.waitInCall(afterTries: $0, unit: .milliseconds(250))
        }

        #expect(waits == [.milliseconds(250), .milliseconds(500), .seconds(1), nil])
    }
}
