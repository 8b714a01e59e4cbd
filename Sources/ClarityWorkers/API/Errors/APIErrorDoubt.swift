extension APIError {
    /// The status that the backend answered; `nil` where no answer came.
    var answeredStatus: Int? {
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

    /// Whether the request may have been acted on although there was no success.
    ///
    /// After such an error of a call that is not idempotent, sending again could leave something
    /// double. What the backend certainly refused, and what never reached it, did not arrive.
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
    /// Whether the whole request may have been sent before this.
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
