import HealthModel
public import ClarityScheduler

// The sections of a job file that apply to all jobs: each key is declared here, where its field is,
// and nowhere else.

extension SectionDeclaration {
    static let backend = SectionDeclaration(
        BackendOptions.self,
        summary: "the CLARITY backend; without it, data is kept here alone")

    static let key = SectionDeclaration(
        KeyOptions.self, isOfAccount: true, summary: "where the master key comes from")

    static let sources = SectionDeclaration(
        entries: SourceOptions.self, isOfAccount: true, summary: "the files to read")

    static let assistant = SectionDeclaration(
        AssistantOptions.self,
        summary: "what an assistant may read by `clarity-jobs mcp`; nothing without it")

    static let fresh = SectionDeclaration(
        FreshOptions.self, isOfAccount: true,
        summary: "how old the newest data may be; `status` checks it")
}

extension SectionValues {
    /// The backend; `nil` for an archive without a server.
    public var backend: BackendOptions? { get throws(Failure) { try read() } }

    public var key: KeyOptions { get throws(Failure) { try read() ?? KeyOptions() } }

    public var sources: [SourceOptions] {
        get throws(Failure) { try read(entries: SourceOptions.self) }
    }

    /// The time zone that the sources name; they all name the same one.
    public var sourceZone: String? {
        get throws(Failure) { try sources.lazy.compactMap(\.timeZone).first }
    }

    public var freshness: [FreshnessGoal] {
        get throws(Failure) { try (read() ?? FreshOptions()).goals }
    }

    public var assistant: AssistantOptions {
        get throws(Failure) { try read() ?? AssistantOptions() }
    }

    public var targets: [TargetOptions] {
        get throws(Failure) { try read(entries: TargetOptions.self) }
    }

    public var state: StateOptions { get throws(Failure) { try read() ?? StateOptions() } }
}

/// Where the state is. No job file has this section: the commands and the scheduler add it.
public struct StateOptions: SectionOptions {
    public static let sectionKey = "state"

    private var folder: String?
    private var limits: String?

    public init() {}

    /// Creates the places of an order.
    ///
    /// - Parameter limitsFolder: the folder in which all processes of an installation keep the limits
    ///   of its backends; without it, a folder of the state directory. Accounts have state
    ///   directories of their own and share this one.
    public init(directory: String, limitsFolder: String? = nil) {
        folder = directory
        limits = limitsFolder
    }

    public mutating func declare(in fields: inout OptionFields) {
        fields.carry("directory", &folder)
        fields.carry("limits_folder", &limits)
    }

    /// The path of the state directory.
    public var directory: String {
        get throws(Failure) {
            guard let folder else { throw Failure(.configuration, "`state.directory` is missing") }
            return folder
        }
    }

    /// The folder of the limits that an order names; `nil` if it names none.
    public var sharedLimitsFolder: String? { limits }

    /// The folder of the backend's limits.
    public var limitsFolder: String {
        get throws(Failure) {
            if let limits { return limits }
            return "\(try directory)/backend"
        }
    }
}

/// The keys of the section `key`.
public struct KeyOptions: SectionOptions {
    public static let sectionKey = "key"

    public var variable: String?

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(
            "variable", .variableName, &variable,
            "environment variable that holds the master key; without it `CLARITY_JOBS_KEY`")
    }
}

/// An entry of the section `sources`.
public struct SourceOptions: EntryOptions {
    public static let sectionKey = "sources"
    public static let noun = "source"

    /// The kind of the files; the raw value is the kind in the job file.
    public enum Kind: String, CaseIterable, Sendable {
        case appleHealthExport = "apple-health-export"
        case healthAutoExport = "health-auto-export"
        case spool
    }

    public let kind: Kind
    public var path = ""
    /// The folder below which no link is followed; `nil` without accounts, where all are.
    public var root: String?
    public var timeZone: String?
    /// One name on each line.
    public var preferred: String?
    public var since: String?
    public var isDeletedWhenRead: Bool?

    public init(_ kind: Kind) { self.kind = kind }

    public mutating func declare(in fields: inout OptionFields) {
        let paths = [
            Kind.appleHealthExport: "zip file that the Health app exports, or its `export.xml`",
            .healthAutoExport: "JSON file of Health Auto Export, or a folder of such files",
            .spool: "folder into which any program moves files of samples",
        ]
        fields.add(required: "path", .source, &path, paths[kind] ?? "")
        fields.carry(OptionDeclaration.sourceRoot, &root)
        guard kind != .spool else { return fields.carry(OptionDeclaration.sourceZone, &timeZone) }
        fields.add(
            OptionDeclaration.sourceZone, .timeZone, &timeZone, isShared: true,
            "time zone that days follow, the same for all sources; without it the machine's at "
                + "the first import")
        switch kind {
        case .appleHealthExport:
            fields.add(
                "prefer", .texts, &preferred,
                "names of devices or apps, as in the export, whose records take precedence in days "
                    + "and nights")
            fields.add(
                "since", .dateOrInstant, &since,
                "ignores records that began earlier; a date begins at its midnight")
        case .healthAutoExport:
            fields.add(
                "delete_after_reading", .boolean, &isDeletedWhenRead,
                "deletes each file once all of it is stored in the outbox and the archive")
        case .spool: break
        }
    }
}

/// What `import` reads. No job file has this section: the command adds it.
public struct ImportOptions: SectionOptions {
    public static let sectionKey = "import"

    /// `nil` if the contents decide.
    public var kind: SourceOptions.Kind?
    public var path = ""
    public var timeZone: String?
    /// One name on each line.
    public var preferred: String?
    public var since: String?

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add("kind", &kind, otherwise: "auto", "kind of the files")
        fields.add(required: "path", .path, &path, "file or folder")
        fields.carry("time_zone", &timeZone)
        fields.carry("prefer", &preferred)
        fields.carry("since", &since)
    }

    /// The file or folder as a source of a kind.
    package func options(of kind: SourceOptions.Kind) -> SourceOptions {
        var source = SourceOptions(kind)
        source.path = path
        source.timeZone = timeZone
        source.preferred = preferred
        source.since = since
        return source
    }
}

/// The keys of the section `mcp`: what an assistant may read.
public struct AssistantOptions: SectionOptions {
    public static let sectionKey = "mcp"

    private var flags: [String: Bool] = [:]

    public init() {}

    /// Every key, with what it allows.
    private static let keys: [(name: String, summary: String)] =
        MetricGroup.allCases.map { ($0.rawValue, "whether it may read the metrics of this type") }
        + [
            ("workouts", "whether it may read workouts"),
            ("insights", "whether it may read the backend's texts"),
            ("jobs", "whether it may ask what jobs do, and why one waits"),
        ]

    public mutating func declare(in fields: inout OptionFields) {
        for (name, summary) in AssistantOptions.keys {
            fields.add(name, .boolean, &flags[name, default: false], summary)
        }
    }

    /// The keys that are true, in the order of their declaration.
    public var allowed: [String] {
        AssistantOptions.keys.map(\.name).filter { flags[$0] == true }
    }
}

/// The keys of the section `fresh`: the maximum age of the data, one goal for each kind.
public struct FreshOptions: SectionOptions {
    public static let sectionKey = "fresh"

    private var spans: [FreshnessGoal.Subject: Duration] = [:]

    public init() {}

    private static let subjects: [FreshnessGoal.Subject] =
        SampleKind.allCases.map { .samples($0) } + [.insights, .profile]

    public mutating func declare(in fields: inout OptionFields) {
        for subject in FreshOptions.subjects {
            fields.add(
                subject.name, .duration(.seconds(60)...days(3660)), &spans[subject],
                subject.freshSummary)
        }
    }

    /// The goals, samples first and in the order of their kinds.
    public var goals: [FreshnessGoal] {
        FreshOptions.subjects.compactMap { subject in
            spans[subject].map { FreshnessGoal(subject, within: $0) }
        }
    }
}

extension FreshnessGoal.Subject {
    fileprivate var freshSummary: String {
        switch self {
        case .samples: "maximum age of the newest sample that the backend has accepted"
        case .insights: "maximum age of the newest insight"
        case .profile: "maximum time since the profile was fetched"
        }
    }
}

/// The keys of the section `backend`.
public struct BackendOptions: SectionOptions {
    public static let sectionKey = "backend"

    public var url = ""
    /// The name of a dialect, or `auto`.
    public var dialect = "auto"
    /// The wait before the first retry of a request.
    public var retryWait = Duration.seconds(1)
    public var authorities: String?
    /// One digest on each line.
    public var pins: String?
    /// The limits of all processes together; `nil` for none.
    public var requestsPerSecond: Double?
    public var connections: Int?

    public init() {}

    public mutating func declare(in fields: inout OptionFields) {
        fields.add(
            required: "url", .url, &url,
            "address of the backend's API, such as `https://clarity.example/api/v1`")
        fields.add(
            "dialect", .choice(["auto", "blueprint", "loop"]), &dialect,
            "version of the backend; `auto` asks the backend once and remembers the answer")
        fields.add(
            "retry_wait", .duration(.milliseconds(1)...(.seconds(60))), &retryWait,
            "wait before a request is repeated within an attempt; doubles each time")
        fields.add(
            "ca_bundle", .path, &authorities,
            "file with the certificate authorities to trust instead of the system's")
        fields.add(
            "pins", .texts, &pins,
            "digests `sha256//...` of at least two public keys, one of them a backup; the backend "
                + "must present one of them")
        fields.add(
            "max_requests_per_second", .number(0.1...1000), &requestsPerSecond,
            "how many requests all jobs and commands together may begin in a second, spaced "
                + "evenly; `0.5` is one every 2 seconds; without it there is no limit")
        fields.add(
            "max_connections", .integer(1...1000), &connections,
            "how many requests all jobs and commands together may have under way at once; without "
                + "it there is no limit")
    }
}
