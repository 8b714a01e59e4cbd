@preconcurrency import Glibc
import Testing

@testable import Backend
@testable import BackendContract

struct TransportFailureTests {
    private func error(_ verdict: CurlVerdict) -> TransportError {
        var verdict = verdict
        (verdict.bodyLimit, verdict.headLimit) = (9, 5)
        return TransportError(verdict)
    }

    @Test(arguments: [
        (1, TransportError.malformed), (3, .refused("the backend's URL is not an absolute URL")),
        (5, .couldNotConnect), (6, .nameNotResolved), (7, .couldNotConnect), (8, .malformed),
        (16, .malformed), (18, .truncated), (27, .library(code: 27)), (28, .connectTimeout),
        (35, .tls), (52, .reset), (55, .reset), (56, .reset), (58, .tls), (59, .tls),
        (60, .certificateForOtherHost), (61, .badEncoding), (63, .tooLarge(limit: 9)), (64, .tls),
        (77, .authoritiesUnreadable), (83, .tls), (90, .pinMismatch), (91, .tls), (92, .malformed),
        (97, .couldNotConnect), (100, .headTooLarge(limit: 5)), (-1, .library(code: -1)),
    ])
    func `each verdict of libcurl has its error`(code: Int, wanted: TransportError) {
        #expect(error(CurlVerdict(code: code)) == wanted)
    }

    @Test(arguments: [52, 55, 56])
    func `a connection that ends within the answer has truncated it`(code: Int) {
        #expect(error(CurlVerdict(code: code, hasBegun: true)) == .truncated)
    }

    @Test func `without a route the machine is offline`() {
        for systemError in [ENETUNREACH, ENETDOWN, EHOSTUNREACH] {
            #expect(error(CurlVerdict(code: 7, systemError: systemError)) == .offline)
        }
        #expect(error(CurlVerdict(code: 7, systemError: ECONNREFUSED)) == .couldNotConnect)
    }

    @Test(arguments: [
        (0, TransportError.certificateForOtherHost), (1, .certificateForOtherHost),
        (62, .certificateForOtherHost), (64, .certificateForOtherHost),
        (9, .certificateOutOfDate), (10, .certificateOutOfDate), (18, .certificateNotTrusted),
        (20, .certificateNotTrusted), (99, .certificateNotTrusted),
    ])
    func `what is wrong with a certificate is told apart`(
        verification: Int, wanted: TransportError
    ) {
        #expect(error(CurlVerdict(code: 60, verification: verification)) == wanted)
    }

    @Test func `what came before decides what a verdict means`() {
        #expect(error(CurlVerdict(code: 28, wasConnected: true)) == .timeout)
        #expect(error(CurlVerdict(code: 35, hasNoCommonVersion: true)) == .tlsVersion)
        #expect(error(CurlVerdict(code: 56, proxyStatus: 407)) == .proxyRefused(status: 407))
        #expect(error(CurlVerdict(code: 56, proxyStatus: 200)) == .reset)
        #expect(error(CurlVerdict(code: 27, wasConnected: true)) == .headTooLarge(limit: 5))
        #expect(
            error(CurlVerdict(code: 27, wasConnected: true, hasHead: true)) == .library(code: 27))
    }

    @Test(arguments: [
        (TransportError.offline, "there is no route to the backend"),
        (.nameNotResolved, "the name of the backend's host has no address"),
        (.couldNotConnect, "nobody accepts a connection at the backend's address"),
        (.proxyRefused(status: 407), "the proxy makes no way to the backend (407)"),
        (.connectTimeout, "there was no connection to the backend in time"),
        (.stalled, "the connection to the backend stood still for too long"),
        (.timeout, "the backend did not answer in time"),
        (.reset, "the backend ended the connection without an answer"),
        (.truncated, "the backend's answer broke off"),
        (.tls, "no TLS connection to the backend could be made"),
        (.tlsVersion, "the backend does not speak TLS 1.3"),
        (.certificateNotTrusted, "the backend's certificate comes from no trusted authority"),
        (
            .certificateOutOfDate,
            "the backend's certificate has expired or is not valid yet, or this machine's clock "
                + "is wrong"
        ),
        (.certificateForOtherHost, "the backend's certificate is for another host"),
        (.pinMismatch, "the backend's key is none of `backend.pins`"),
        (.authoritiesUnreadable, "the certificates of `backend.ca_bundle` cannot be read"),
        (.malformed, "the backend's answer is no HTTP"),
        (.badEncoding, "the backend's answer is not compressed as it says"),
        (.tooLarge(limit: 9), "the backend's answer is larger than 9 bytes"),
        (.headTooLarge(limit: 9), "the head of the backend's answer is larger than 9 bytes"),
        (.cancelled, "stopped before it was done"), (.refused("why"), "why"),
        (.library(code: 2), "libcurl failed (2)"),
    ])
    func `each error has its sentence`(error: TransportError, sentence: String) {
        #expect("\(error)" == sentence)
    }
}
