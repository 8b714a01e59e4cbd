public import ClarityContract

extension APIError {
    /// The status of the backend's answer; `nil` if no answer came, or if the error does not keep
    /// it.
    package var answeredStatus: Int? {
        switch self {
        case .server(let status, _), .unavailable(let status), .rejected(let status),
            .noSuchCall(let status), .redirected(let status):
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
            .renewalUnclear, .analysisFailed, .unavailable:
            true
        case .transport(let error): error.mayHaveSent
        case .offline, .tls, .notLoggedIn, .unauthorized, .secondFactorRequired, .sessionEnded,
            .forbidden, .notFound, .conflict, .validation, .clockRefused, .requestTooLarge,
            .rateLimited, .rejected, .redirected, .refused, .store, .notOffered, .noSuchCall,
            .dialectUnknown,
            .dialectChanged, .gone, .blocked, .accountLocked, .loginUnclear,
            .emailNotVerified, .signupClosed, .accountExists, .passwordRefused, .codeRefused,
            .tokenUnclear, .renewalRefused, .loginsUsedUp,
            .withoutSession:
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
            .pinMismatch, .authoritiesUnreadable, .bodyUnreadable, .refused:
            false
        }
    }
}
