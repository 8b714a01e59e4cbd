import Backend
import BackendContract
import HealthStore
import HealthModel
import ClarityScheduler
import Platform

/// Why a message did not arrive, or may not have.
struct NoticeSendError: Error {
    var failure: Failure
    /// Whether the target may have the message in spite of the error.
    var mayHaveArrived = false
}

/// Sends messages to targets.
struct NoticeSender: Sendable {
    let transport: any HTTPTransport
    let secrets: NoticeSecrets
    let clock: any WallClock
    /// The program that takes mails, as sendmail(8) does.
    var mailProgram = "/usr/sbin/sendmail"
    /// The variables that programs must not see.
    let hidden: Set<String>

    /// Sends a message.
    ///
    /// - Throws: `NoticeSendError` unless the target took the message.
    func send(
        _ message: NoticeMessage, to target: NoticeTarget
    ) async throws(NoticeSendError) {
        switch target.kind {
        case .ntfy:
            var headers = [
                HTTPHeader("Title", .plain(message.title)),
                HTTPHeader("Tags", .plain(message.isGood ? "white_check_mark" : "warning")),
                HTTPHeader(
                    "Priority",
                    .plain((message.isGood ? .default : target.priority).rawValue)),
            ]
            if let page = target.jobsPage { headers.append(HTTPHeader("Click", .plain(page))) }
            if target.secretName != nil {
                let token = try secret(of: target).reveal()
                headers.append(HTTPHeader("Authorization", .secret(Secret("Bearer \(token)"))))
            }
            try await post(
                target.url, headers, Array(message.text(for: target).utf8), target)
        case .webhook:
            let body = message.json(for: target)
            let time = "\(clock.now.millisecondsSince1970 / 1000)"
            let key = Array(try secret(of: target).reveal().utf8)
            let signature: String
            do throws(MasterKeyError) {
                signature = try MessageSignature.hmacSHA256(
                    of: Array("\(time).".utf8) + body, key: key)
            } catch {
                throw NoticeSendError(failure: Failure(.internalFault, error.description))
            }
            let headers = [
                HTTPHeader("Content-Type", .plain("application/json")),
                HTTPHeader("Clarity-Signature", .plain("t=\(time),v1=\(signature)")),
            ]
            try await post(target.url, headers, body, target)
        case .mail: try mail(message, to: target)
        case .command:
            try pass(message.json(for: target), to: target.words, of: target)
        case .healthchecks:
            try await ping("/log", message.text(for: target), target)
        }
    }

    /// Pings a check: `/start`, an empty text for success, `/fail` or `/log`, with a text that the
    /// check keeps. Does nothing for other targets.
    func ping(
        _ signal: String, _ text: String, _ target: NoticeTarget
    ) async throws(NoticeSendError) {
        guard target.kind == .healthchecks else { return }
        // The signal is the last part of the path (https://healthchecks.io/docs/http_api/). Behind a
        // query or a fragment it would not count, and a failure would be a success.
        let address = try secret(of: target).reveal().prefix { $0 != "#" }
        let path = address.prefix { $0 != "?" }
        try await post(
            path.withoutSlashAtEnd + signal + address.dropFirst(path.count), [],
            Array(text.utf8), target)
    }

    private func secret(of target: NoticeTarget) throws(NoticeSendError) -> Secret {
        do throws(Failure) {
            return try secrets.secret(named: target.secretName ?? "")
        } catch {
            throw NoticeSendError(
                failure: Failure(error.category, "target `\(target.name)`: \(error.reason)"))
        }
    }

    private func post(
        _ url: String, _ headers: [HTTPHeader], _ body: [UInt8], _ target: NoticeTarget
    ) async throws(NoticeSendError) {
        var request = HTTPRequest(.post, url, headers: headers, body: body)
        request.isOnce = true
        request.allowsPlainHTTP = target.allowsPlainHTTP
        let response: HTTPResponse
        do throws(TransportError) {
            response = try await transport.send(request)
        } catch {
            let (failure, mayHaveArrived) = error.failure(of: "target `\(target.name)`")
            throw NoticeSendError(failure: failure, mayHaveArrived: mayHaveArrived)
        }
        guard !(200...299).contains(response.status) else { return }
        // A server that answers with an error has not taken the message.
        throw NoticeSendError(
            failure: NoticeSender.failure(response.status, "target `\(target.name)`"))
    }

    private static func failure(_ status: Int, _ name: String) -> Failure {
        switch status {
        case 401, 403: Failure(.credential, "\(name) answers \(status)")
        // The target may take the same message later.
        case 408, 425, 429, 500...: Failure(.unreachable, "\(name) answers \(status)")
        default: Failure(.configuration, "\(name) refuses the message (status \(status))")
        }
    }

    private func mail(
        _ message: NoticeMessage, to target: NoticeTarget
    ) throws(NoticeSendError) {
        var lines = [
            "To: \(target.recipient)", "Subject: \(message.title)", "Date: \(clock.now.mailDate)",
            "Auto-Submitted: auto-generated", "MIME-Version: 1.0",
            "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: 8bit",
        ]
        if let sender = target.sender { lines.insert("From: \(sender)", at: 0) }
        let text = lines.joined(separator: "\n") + "\n\n" + message.text(for: target)
        try pass(Array(text.utf8), to: [mailProgram, "-t", "-oi"], of: target)
    }

    private func pass(
        _ input: [UInt8], to words: [String], of target: NoticeTarget
    ) throws(NoticeSendError) {
        let (end, wasTaken) = NoticeProgram(words: words, hidden: hidden).run(input)
        if end == .exited(0) { return }
        throw NoticeSendError(
            failure: Failure(.work, "the program of target `\(target.name)` \(end.text)"),
            // It may have sent the message before it failed; not if a shell did not find it.
            mayHaveArrived: wasTaken && ![.exited(126), .exited(127)].contains(end))
    }
}

/// A target of notices.
typealias NoticeTarget = TargetOptions

extension TargetOptions {
    /// The address of the page with the jobs, if the target names the pages.
    var jobsPage: String? { rules.pages.map { "\($0.withoutSlashAtEnd)/jobs" } }

    /// The most bytes of a message.
    ///
    /// - ntfy refuses more than 4,096, or makes an attachment of them
    ///   (https://github.com/binwiederhier/ntfy/releases/tag/v1.11.0).
    /// - healthchecks keeps the first 100,000, on a server of one's own the first 10,000 unless
    ///   `PING_BODY_LIMIT` says otherwise (https://healthchecks.io/docs/attaching_logs/ and
    ///   self_hosted_configuration).
    /// - A mail server takes at least 64 KiB with the header (RFC 5321, section 4.5.3.1.7).
    /// - A web server such as nginx takes 1 MiB of a webhook unless it is told otherwise
    ///   (`client_max_body_size`, https://nginx.org/en/docs/http/ngx_http_core_module.html).
    /// - A program reads as much as it likes.
    var mostBytes: Int {
        switch kind {
        case .ntfy: 4096
        case .healthchecks: 10_000
        case .mail: 60_000
        case .webhook: 1 << 20
        case .command: .max
        }
    }
}

extension AttemptOrder {
    /// Returns the targets of notices, in the order of the job file.
    ///
    /// - Throws: `Failure` for a target with a fault, or two targets of one name.
    func targets() throws(Failure) -> [NoticeTarget] {
        let targets = try SectionValues(options).targets
        for (index, target) in targets.enumerated()
        where targets[..<index].contains(where: { $0.name == target.name }) {
            throw Failure(
                .configuration,
                "two targets of `notify` are called `\(target.name)`; give each a `name`")
        }
        return targets
    }
}

/// Finds the secrets of targets and jobs: in the environment, else among the credentials of the service
/// manager (systemd.exec(5), `LoadCredential=`).
struct NoticeSecrets: Sendable {
    /// The most bytes in a secret: an RSA key of 8192 bits has some 6500 as PEM.
    private static let longest = 16 << 10

    let environment: [String: String]

    /// Returns the secret with a name: a line, without its end and the blanks around it.
    ///
    /// - Throws: `Failure` if there is none, or it is empty.
    func secret(named name: String) throws(Failure) -> Secret {
        try first(named: name) { Secret(firstLineOf: $0) }
    }

    /// Returns the whole text of a secret that may have several lines.
    ///
    /// - Throws: `Failure` if there is none, or it is empty.
    func text(named name: String) throws(Failure) -> Secret {
        try first(named: name) { bytes in
            bytes.isEmpty ? nil : Secret(String(decoding: bytes, as: UTF8.self))
        }
    }

    private func first(
        named name: String, _ read: ([UInt8]) -> Secret?
    ) throws(Failure) -> Secret {
        if let secret = environment[name].flatMap({ read(Array($0.utf8)) }) { return secret }
        if let folder = environment["CREDENTIALS_DIRECTORY"], !folder.isEmpty, !name.contains("/"),
            let bytes = readRegularFile("\(folder)/\(name)", atMost: NoticeSecrets.longest),
            let secret = read(bytes)
        {
            return secret
        }
        throw Failure(
            .configuration, "there is no variable and no credential `\(name)` with the secret")
    }
}
