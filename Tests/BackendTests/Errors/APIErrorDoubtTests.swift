@testable import Backend
@testable import BackendContract

import ClarityScheduler
import Testing

struct APIErrorDoubtTests {
    static let inDoubt: [APIError] = [
        .interrupted, .timeout, .server(status: 500, after: nil), .server(status: 503, after: nil),
        .decoding("part"), .tooLarge, .library(code: 56), .cancelled, .renewalUnclear,
        .analysisFailed, .transport(.stalled), .unavailable(status: 400),
    ]

    @Test(arguments: inDoubt)
    func `what broke off or was not understood may have arrived`(error: APIError) {
        #expect(error.mayHaveArrived)
    }

    static let certain: [APIError] = [
        .unreachable(.offline, host: "h"), .tls, .unreachable(.connectTimeout, host: "h"),
        .transport(.proxyRefused(status: 407)),
        .transport(.pinMismatch), .notLoggedIn, .unauthorized, .loginUnclear, .tokenUnclear,
        .secondFactorRequired, .sessionEnded, .emailNotVerified, .accountLocked(for: .seconds(1)),
        .signupClosed, .accountExists, .noSuchUser, .passwordTooWeak("it"), .passwordRefused(nil),
        .codeRefused, .forbidden, .notFound,
        .conflict(indices: []), .validation(indices: [1]), .clockRefused, .requestTooLarge,
        .rateLimited(after: nil), .rejected(status: 400), .redirected(status: 307),
        .blocked, .gone, .noSuchCall(status: 404), .notOffered("it"),
        .renewalRefused(status: 500, since: morning), .loginsUsedUp(until: morning),
        .dialectUnknown,
        .dialectChanged, .refused("why"), .store(Failure(.disk, "full")),
    ]

    @Test(arguments: certain)
    func `what was refused or never sent did not arrive`(error: APIError) {
        #expect(!error.mayHaveArrived)
    }

    @Test(arguments: [APIError.timeout, .interrupted, .server(status: 500, after: nil)])
    func `a call that must not be made twice is not, when it may have arrived`(error: APIError) {
        #expect(error.waitInCall(afterTries: 1, unit: .seconds(1), isRepeatable: false) == nil)
        #expect(error.waitInCall(afterTries: 1, unit: .seconds(1)) == .seconds(1))
    }

    @Test func `a call that must not be made twice is, when it did not arrive`() {
        let wait = APIError.unreachable(.offline, host: "h").waitInCall(
            afterTries: 1, unit: .seconds(1), isRepeatable: false)

        #expect(wait == .seconds(1))
    }
}
