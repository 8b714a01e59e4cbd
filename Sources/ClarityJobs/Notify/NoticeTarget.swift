import HealthStore
import HealthModel
import ClarityScheduler
import Platform

/// A target of notices.
typealias NoticeTarget = TargetOptions

extension TargetOptions {
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

/// Finds the secrets of targets: in the environment, else among the credentials of the service
/// manager (systemd.exec(5), `LoadCredential=`).
struct NoticeSecrets: Sendable {
    /// The most bytes in a secret.
    private static let longest = 4096

    let environment: [String: String]

    /// Returns the secret with a name: a line, without its end and the blanks around it.
    ///
    /// - Throws: `Failure` if there is none, or it is empty.
    func secret(named name: String) throws(Failure) -> Secret {
        if let secret = environment[name].flatMap({ Secret(firstLineOf: $0.utf8) }) {
            return secret
        }
        if let folder = environment["CREDENTIALS_DIRECTORY"], !folder.isEmpty, !name.contains("/"),
            let bytes = readRegularFile("\(folder)/\(name)", atMost: NoticeSecrets.longest),
            let secret = Secret(firstLineOf: bytes)
        {
            return secret
        }
        throw Failure(
            .configuration, "there is no variable and no credential `\(name)` with the secret")
    }
}
