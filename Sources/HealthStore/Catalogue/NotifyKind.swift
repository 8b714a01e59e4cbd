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
        /// A topic of an ntfy server.
        case ntfy
        /// A server that takes JSON.
        case webhook
        /// A mail address, by the machine's sendmail(8).
        case mail
        /// A program that gets the message on its standard input.
        case command
        /// A check of healthchecks.io or of a server of one's own, which misses the ping of a
        /// scheduler that no longer runs.
        case healthchecks
    }

    /// The priorities of ntfy.
    public enum Priority: String, CaseIterable, Sendable {
        case min, low, `default`, high, urgent
    }

    public let kind: Kind
    /// Where ntfy and webhook post to.
    public var url = ""
    /// The variable or credential with the target's secret; `nil` if it needs none.
    public var secretName: String?
    /// The mail address.
    public var recipient = ""
    /// The sender of mails; `nil` for sendmail's own.
    public var sender: String?
    /// The program and its arguments.
    public var words: [String] = []
    /// Whether the address may be http on another machine.
    public var allowsPlainHTTP = false
    /// How urgent ntfy shows that something is wrong.
    public var priority = Priority.high
    public var rules = NoticeRules()

    public init(_ kind: Kind) { self.kind = kind }

    public mutating func declare(in fields: inout OptionFields) {
        switch kind {
        case .ntfy:
            fields.add(
                required: "url", .url, &url,
                "address of the topic, such as `https://ntfy.sh/topic`")
            fields.add(
                "secret", .secretName, &secretName,
                "name of the variable or credential with the access token")
            declarePlainHTTP(in: &fields)
            fields.add(
                "priority", &priority, "how urgent it is on the phone that something is wrong")
        case .webhook:
            fields.add(required: "url", .url, &url, "address to which the JSON is posted")
            declareSecret("key that signs each message", in: &fields)
            declarePlainHTTP(in: &fields)
        case .mail:
            fields.add(required: "to", .line, &recipient, "mail address of the recipient")
            fields.add(
                "from", .line, &sender, "mail address of the sender; without it sendmail's own")
        case .command:
            fields.add(
                required: "command", .command, &words,
                "program and arguments; it gets the message as JSON on its standard input")
        case .healthchecks: declareSecret("ping address", in: &fields)
        }
        rules.declare(in: &fields)
    }

    private mutating func declarePlainHTTP(in fields: inout OptionFields) {
        fields.add(
            OptionDeclaration.plainHTTP, .boolean, &allowsPlainHTTP,
            "whether `url` may be http on another machine, where anybody on the way reads along")
    }

    private mutating func declareSecret(_ content: String, in fields: inout OptionFields) {
        var name = secretName ?? ""
        fields.add(
            required: "secret", .secretName, &name,
            "name of the variable or credential with the \(content)")
        secretName = name
    }

    public var name: String { rules.name ?? kind.rawValue }

    /// The target, as far as it matters which notices it is told of.
    public var addressee: NoticeAddressee {
        NoticeAddressee(
            name: name, kinds: rules.wanted,
            jobs: rules.jobs.map { Set($0.split(separator: "\n").map(String.init)) })
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
    /// The jobs whose notices the target gets, one on each line; `nil` for every notice.
    public var jobs: String?
    public var repeatsAfter: Duration?
    /// Whether messages have the last lines that a failed program wrote.
    public var showsOutput = true
    /// The address of the pages, for a link.
    public var pages: String?

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
        fields.add(
            "jobs", .texts, &jobs, "jobs whose notices the target gets; without it every notice")
        fields.add(
            "repeat", .duration(.seconds(600)...(.seconds(30 * 86_400))), &repeatsAfter,
            "how long after a message it comes again, until the notice is over")
        fields.add(
            "output", .boolean, &showsOutput,
            "whether a message has the last lines that a failed program wrote")
        fields.add(
            "pages", .line, &pages, "address of your pages, for a link in each message")
    }

    /// The kinds of notices that the target gets.
    public var wanted: Set<Notice.Kind> {
        guard let kinds else { return Set(Notice.Kind.allCases) }
        return Set(kinds.split(separator: "\n").compactMap { Notice.Kind(rawValue: String($0)) })
    }
}

/// The kind `notify`, which has no options.
public struct NotifyOptions: KindOptions {
    public static let declaration = JobKindDeclaration(
        .notify,
        summary: "tells you of failed jobs and the like, through the targets of `notify`",
        isSingle: true)

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {}
}
