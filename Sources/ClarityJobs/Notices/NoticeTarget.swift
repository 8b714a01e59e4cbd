import HealthStore
import HealthModel
import ClarityScheduler
import Platform

/// An entry of `notify:`: whom to tell, how, and when not to.
struct NoticeTarget: Sendable {
    enum Way: Sendable {
        case ntfy(NtfyTarget)
        case webhook(WebhookTarget)
        case mail(MailTarget)
        case command(CommandTarget)
        case healthchecks(HealthchecksTarget)
    }

    var name: String
    var way: Way
    var rules: NoticeRules

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
        switch way {
        case .ntfy: 4096
        case .healthchecks: 10_000
        case .mail: 60_000
        case .webhook: 1 << 20
        case .command: .max
        }
    }

    /// The variable or credential with the target's secret; `nil` if it needs none.
    var secretName: String? {
        switch way {
        case .ntfy(let target): target.secret
        case .webhook(let target): target.secret
        case .healthchecks(let target): target.secret
        case .mail, .command: nil
        }
    }

    /// Returns the targets that an order carries, in the order of the job file.
    ///
    /// - Throws: `Failure` for a target with a fault, or two targets of one name.
    static func all(in options: [String: String]) throws(Failure) -> [NoticeTarget] {
        var targets: [NoticeTarget] = []
        while let kind = options["notify.\(targets.count).kind"] {
            let prefix = "notify.\(targets.count)."
            let rules = try NoticeRules(options, prefix: prefix)
            let way: Way =
                switch kind {
                case "ntfy": .ntfy(try NtfyTarget(options, prefix: prefix))
                case "webhook": .webhook(try WebhookTarget(options, prefix: prefix))
                case "mail": .mail(try MailTarget(options, prefix: prefix))
                case "command": .command(try CommandTarget(options, prefix: prefix))
                case "healthchecks": .healthchecks(try HealthchecksTarget(options, prefix: prefix))
                default: throw Failure(.configuration, "`\(prefix)kind` is no kind of a target")
                }
            let target = NoticeTarget(name: rules.name ?? kind, way: way, rules: rules)
            guard !targets.contains(where: { $0.name == target.name }) else {
                throw Failure(
                    .configuration,
                    "two targets of `notify` are called `\(target.name)`; give each a `name`")
            }
            targets.append(target)
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
