public import ClarityScheduler

// The kind and the section that tell a person what is wrong.

extension JobKind {
    /// The kind that sends notices.
    public static let notify = JobKind("notify")
}

extension SectionDeclaration {
    /// The targets of notices. It implies a job of the kind `notify`, every 15 minutes and after
    /// each failure.
    static let notify = SectionDeclaration(
        entries: TargetOptions.self, isOfAccount: true, impliesJob: .notify,
        summary: "whom to tell of failed jobs and the like")
}

/// An entry of the section `notify`: whom to tell, how, and when not to.
public struct TargetOptions: EntryOptions {
    public static let sectionKey = "notify"
    public static let noun = "target"

    public enum Kind: String, CaseIterable, Sendable {
        case ntfy, webhook, mail, command, healthchecks
    }

    /// How the target is told.
    public enum Way: Sendable {
        case ntfy(NtfyTarget)
        case webhook(WebhookTarget)
        case mail(MailTarget)
        case command(CommandTarget)
        case healthchecks(HealthchecksTarget)
    }

    public let kind: Kind
    public private(set) var way: Way
    public var rules = NoticeRules()

    public init(_ kind: Kind) {
        self.kind = kind
        way =
            switch kind {
            case .ntfy: .ntfy(NtfyTarget())
            case .webhook: .webhook(WebhookTarget())
            case .mail: .mail(MailTarget())
            case .command: .command(CommandTarget())
            case .healthchecks: .healthchecks(HealthchecksTarget())
            }
    }

    public mutating func declare(in fields: inout OptionFields) {
        func declared<Target: DeclaredOptions>(_ target: Target) -> Target {
            var target = target
            target.declare(in: &fields)
            return target
        }
        way =
            switch way {
            case .ntfy(let target): .ntfy(declared(target))
            case .webhook(let target): .webhook(declared(target))
            case .mail(let target): .mail(declared(target))
            case .command(let target): .command(declared(target))
            case .healthchecks(let target): .healthchecks(declared(target))
            }
        rules.declare(in: &fields)
    }

    public var name: String { rules.name ?? kind.rawValue }

    /// The variable or credential with the target's secret; `nil` if it needs none.
    public var secretName: String? {
        switch way {
        case .ntfy(let target): target.secret
        case .webhook(let target): target.secret
        case .healthchecks(let target): target.secret
        case .mail, .command: nil
        }
    }
}

/// What every target of notices has.
public struct NoticeRules: DeclaredOptions {
    /// The target's name; empty for that of its kind.
    public var name: String?
    /// The kinds of notices, one on each line; `nil` for all.
    public var kinds: String?
    public var atMost: Rate?
    /// The time of day at which nothing is sent.
    public var quiet: String?

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add("name", .text, &name, "name of the target; without it the kind")
        fields.add(
            "on", .words(Notice.Kind.allCases.map(\.rawValue)), &kinds,
            "notices that the target gets; without it all")
        fields.add(
            "at_most", .rate, &atMost,
            "most messages in a time; later notices wait and come together")
        fields.add(
            "quiet", .window, &quiet,
            "time of the day, on the machine's clock, at which nothing is sent")
    }

    /// The kinds of notices that the target gets.
    public var wanted: Set<Notice.Kind> {
        guard let kinds else { return Set(Notice.Kind.allCases) }
        return Set(kinds.split(separator: "\n").compactMap { Notice.Kind(rawValue: String($0)) })
    }
}

/// A topic of an ntfy server.
public struct NtfyTarget: DeclaredOptions {
    public var url = ""
    public var secret: String?

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(
            required: "url", .url, &url, "address of the topic, such as `https://ntfy.sh/topic`")
        fields.add(
            "secret", .secretName, &secret,
            "name of the variable or credential with the access token")
    }
}

/// A server that takes JSON.
public struct WebhookTarget: DeclaredOptions {
    public var url = ""
    public var secret = ""

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(required: "url", .url, &url, "address to which the JSON is posted")
        fields.add(
            required: "secret", .secretName, &secret,
            "name of the variable or credential with the key that signs each message")
    }
}

/// A mail address, by the machine's sendmail(8).
public struct MailTarget: DeclaredOptions {
    public var recipient = ""
    public var sender: String?

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(required: "to", .line, &recipient, "mail address of the recipient")
        fields.add("from", .line, &sender, "mail address of the sender; without it sendmail's own")
    }
}

/// A program that gets the message on its standard input.
public struct CommandTarget: DeclaredOptions {
    public var words: [String] = []

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(
            required: "command", .command, &words,
            "program and arguments; it gets the message as JSON on its standard input")
    }
}

/// A check of healthchecks.io or of a server of one's own, which misses the ping of a scheduler that
/// no longer runs.
public struct HealthchecksTarget: DeclaredOptions {
    public var secret = ""

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(
            required: "secret", .secretName, &secret,
            "name of the variable or credential with the ping address")
    }
}

/// The kind `notify`, which has no options.
public struct NotifyOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .notify,
        summary: "tells you of failed jobs and the like, through the targets of `notify`",
        needsSections: false, isSingle: true)

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {}
}
