@preconcurrency import Glibc
import Testing

@testable import ClarityWorkers

struct TransportFailureTests {
    private func error(
        _ code: Int, systemError: Int32 = 0, hasBegun: Bool = false
    ) -> TransportError {
        TransportError(code: code, systemError: systemError, hasBegun: hasBegun, limit: 9)
    }

    @Test(arguments: [
        (1, TransportError.malformed), (3, .refused("the backend's URL is not an absolute URL")),
        (5, .nameNotResolved), (6, .nameNotResolved), (7, .couldNotConnect), (8, .malformed),
        (16, .malformed), (18, .truncated), (27, .library(code: 27)), (28, .timeout), (35, .tls),
        (52, .reset), (55, .reset), (56, .reset), (58, .tls), (59, .tls), (60, .tls),
        (61, .malformed), (63, .tooLarge(limit: 9)), (64, .tls), (77, .tls), (83, .tls),
        (90, .tls), (91, .tls), (92, .malformed), (97, .couldNotConnect),
    ])
    func `each verdict of libcurl has its error`(code: Int, wanted: TransportError) {
        #expect(error(code) == wanted)
    }

    @Test(arguments: [52, 55, 56])
    func `a connection that ends within the answer has truncated it`(code: Int) {
        #expect(error(code, hasBegun: true) == .truncated)
    }

    @Test func `without a route the machine is offline`() {
        for systemError in [ENETUNREACH, ENETDOWN, EHOSTUNREACH] {
            #expect(error(7, systemError: systemError) == .offline)
        }
        #expect(error(7, systemError: ECONNREFUSED) == .couldNotConnect)
    }
}
