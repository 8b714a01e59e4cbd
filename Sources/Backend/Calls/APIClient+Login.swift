public import BackendContract
public import HealthModel
import ClarityScheduler
import JSON

// Logging in and out.

extension APIClient {
    /// Logs in and stores the session in place of any earlier one.
    ///
    /// The client sends the login once, whatever its outcome, and counts it before sending: at most
    /// two in 15 minutes for one address, by all processes together. An answer that the backend
    /// does not count towards its lock of the account, such as that of its limiter, takes the count
    /// back. In one dialect, a refused password may mean an outage of the backend, and still
    /// counts.
    ///
    /// Before the login, the client detects the dialect again, unless the job file names it.
    ///
    /// - Throws: `APIError.loginsUsedUp` with no login sent; `.unauthorized` or `.loginUnclear` for
    ///   wrong credentials.
    public func login(email: String, password: Secret) async throws(APIError) -> Session {
        try await login(email, password, isAgain: false)
    }

    private func login(
        _ email: String, _ password: Secret, isAgain: Bool
    ) async throws(APIError) -> Session {
        try await detectDialect()
        let requests = try await requests
        let request = try requests.login(email: email, password: password)
        let start = clock.now
        let reservation = try store("keep") { try sessions.reserveLogin(email: email, at: start) }
        let number: Int64
        switch reservation {
        case .usedUp(let instant): throw .loginsUsedUp(until: instant)
        case .granted(let granted): number = granted
        }
        let response: HTTPResponse
        do throws(APIError) {
            response = try await sendOnce(request, in: requests.dialect)
        } catch {
            if !error.mayCountAsFailedLogin {
                try store("keep") { try sessions.withdrawLogin(number) }
            }
            throw error
        }
        let session = try await session(from: response, email: email)
        // The right password resets the backend's count towards its lock. A login that no person
        // requested still counts here: sessions that never last must not cause logins forever.
        if !isAgain { try store("keep") { try sessions.withdrawLogin(number) } }
        let now = clock.now
        try store("keep") { try sessions.save(session, at: now, isAgain: isAgain) }
        return session
    }

    /// Logs in again with the credentials that the store has.
    ///
    /// - Throws: `error` if it has none, otherwise the error of the login.
    func logInAgain(orElse error: APIError) async throws(APIError) -> Session {
        let credentials = try store("read") { try sessions.credentials() }
        guard let credentials else { throw error }
        do throws(APIError) {
            return try await login(credentials.email, credentials.password, isAgain: true)
        } catch {
            try note(error.classification.sentence, isTrouble: false)
            throw error
        }
    }

    func hasCredentials() throws(APIError) -> Bool {
        try store("read") { try sessions.credentials() } != nil
    }

    /// Ends the session at the backend, if the backend answers, and forgets it in any case.
    ///
    /// - Throws: `notLoggedIn` with nothing sent; otherwise the error of the request to the
    ///   backend, after the session was forgotten.
    public func logout() async throws(APIError) {
        var fault: APIError?
        do throws(APIError) {
            try await endSession()
        } catch .notLoggedIn {
            // The store stays as it is.
            throw .notLoggedIn
        } catch {
            fault = error
        }
        try store("forget") { try sessions.clear() }
        if let fault { throw fault }
    }

    /// Asks the backend to end the session; the stored session stays.
    ///
    /// An expired access token is renewed first. Without a valid one, the backend would not learn
    /// that the refresh token is to end, and a refresh token lives long.
    public func endSession() async throws(APIError) {
        do throws(APIError) {
            try await revoke(try await session())
        } catch .sessionEnded {
            // The backend has already ended the session.
        } catch  where error.isRenewalUnclear {
            // One backend gives this answer for an expired refresh token. The session cannot be
            // used again in any case.
        }
    }

    /// Asks the backend to end `session`, or the session that had to replace it.
    private func revoke(_ session: Session) async throws(APIError) {
        let requests = try await requests
        func request(_ session: Session) throws(APIError) -> HTTPRequest {
            try requests.logout(session.refreshToken, token: session.accessToken)
        }
        do throws(APIError) {
            _ = try await exchange(request(session))
        } catch .unauthorized {
            let renewed = try await renewed(insteadOf: session)
            do throws(APIError) {
                _ = try await exchange(request(renewed))
            } catch .unauthorized {
                throw .sessionEnded
            }
        }
    }

    // MARK: - Login answers

    private func session(
        from response: HTTPResponse, email: String
    ) async throws(APIError) -> Session {
        let granted = try await grant(by: response)
        return Session(
            userID: granted.user.userID, email: granted.user.email ?? email,
            accessToken: granted.accessToken, refreshToken: granted.refreshToken,
            expiresAt: clock.now + life(of: granted.tokens))
    }

    /// Sends a login once: a login must never be repeated, however it ends.
    private func sendOnce(
        _ request: HTTPRequest, in dialect: Dialect
    ) async throws(APIError) -> HTTPResponse {
        let response: HTTPResponse
        do throws(TransportError) {
            response = try await transport.send(request)
        } catch {
            throw APIError(error, host: request.host)
        }
        guard response.body.count <= APIClient.largestAnswer else { throw .tooLarge }
        if let fault = dialect.error(in: response, to: .login, now: clock.now) {
            throw await explained(fault)
        }
        return response
    }
}

extension APIError {
    /// Whether a session was not renewed for a reason that may be its end.
    fileprivate var isRenewalUnclear: Bool {
        switch self {
        case .renewalUnclear, .renewalRefused: true
        default: false
        }
    }

    /// Whether the backend may count the login towards its lock of the account: it refused the
    /// address or the password, or its answer did not arrive.
    fileprivate var mayCountAsFailedLogin: Bool {
        switch self {
        case .unauthorized, .loginUnclear: true
        case .interrupted, .timeout, .decoding, .tooLarge, .library, .cancelled: true
        case .transport(let error): error.mayHaveSent
        // The answer of a gateway, in place of the backend's.
        case .server(let status, _): status == 502 || status == 504
        default: false
        }
    }
}

/// Reads the user's id from an access token, for a backend that returns it nowhere else.
///
/// The id is the `sub` of a JSON Web Token (RFC 7519). Its signature is not checked: the token came
/// from the backend itself over a trusted connection, and the id decides where rows are kept on
/// this machine, not what anybody may do at the backend.
enum TokenSubject {
    /// The longest token that is read: 16 KiB.
    static let longestToken = 16 * 1024
    /// The longest id that is accepted, in bytes.
    static let longestID = 256

    /// Returns the id; `nil` for a token of another form, which is not an error.
    static func read(_ token: Secret) -> String? {
        let text = token.reveal().utf8
        guard text.count <= longestToken else { return nil }
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = base64URLDecoded(parts[1]) else { return nil }
        do throws(JSONPart.Fault) {
            let subject = try JSONPart(of: bytes).member("sub").text()
            return isUsable(subject) ? subject : nil
        } catch {
            // A token without JSON names nobody.
            return nil
        }
    }

    /// Whether `id` can be a user's id: 1 to 256 visible ASCII characters.
    static func isUsable(_ id: String) -> Bool {
        (1...longestID).contains(id.utf8.count) && id.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Decodes unpadded base64url (RFC 4648, section 5; RFC 7515); `nil` for anything else.
    static func base64URLDecoded(_ digits: some Collection<UInt8>) -> [UInt8]? {
        guard digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        var buffer: UInt32 = 0
        var bits = 0
        for digit in digits {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = digit - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = digit - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0") + 52
            case UInt8(ascii: "-"): value = 62
            case UInt8(ascii: "_"): value = 63
            default: return nil
            }
            buffer = buffer << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
            }
        }
        return bytes
    }
}
